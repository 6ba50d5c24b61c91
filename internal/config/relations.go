package config

import (
	"fmt"
	"time"
)

// slotsMax keeps a typing mistake from flooding a provider.
const slotsMax = 4096

// What the fields of one process say about each other. Zero fields have been
// reported already and contradict nobody.

func (c Intake) relations() []string {
	if c.HTTPAddr == c.AdminAddr && !c.HTTPAddr.anyPort() {
		return []string{fmt.Sprintf("PAYONCE_HTTP_ADDR and PAYONCE_ADMIN_ADDR are both %s: give them different ports", c.HTTPAddr)}
	}
	return nil
}

func (c Relay) relations() []string { return nil }

func (c Worker) relations() []string {
	problems := c.Providers.relations()
	if c.Lease <= 0 {
		problems = append(problems, notPositive("PAYONCE_LEASE", c.Lease))
	}
	if c.Slots < 0 || c.Slots > slotsMax {
		problems = append(problems, fmt.Sprintf("PAYONCE_PROVIDER_SLOTS is %d: set it to 1 to %d, or leave it out", c.Slots, slotsMax))
	}
	return problems
}

func (c Reconciler) relations() []string { return c.Providers.relations() }

func (c Providers) relations() []string {
	var problems []string
	if accounts, urls := len(c.Accounts.List), len(c.URLs); accounts > 0 && urls > 0 && accounts != urls {
		problems = append(problems, fmt.Sprintf("PAYONCE_PROVIDER lists %d accounts and PAYONCE_PROVIDER_URL %d URLs: "+
			"give one URL for each account, in the same order", accounts, urls))
	}
	if c.Timeout <= 0 {
		problems = append(problems, notPositive("PAYONCE_PROVIDER_TIMEOUT", c.Timeout))
	}
	return problems
}

func (c Migrate) relations() []string      { return nil }
func (c TopicsTool) relations() []string   { return nil }
func (c MerchantTool) relations() []string { return nil }

func notPositive(name string, d time.Duration) string {
	return fmt.Sprintf("%s is %s: set it to a time above zero", name, d)
}
