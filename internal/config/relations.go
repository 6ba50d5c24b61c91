package config

import (
	"fmt"
	"time"
)

// slotsMax keeps a typing mistake from flooding a provider.
const slotsMax = 4096

// What the fields of one process say about each other. Zero fields have been
// reported already and contradict nobody.

// The bounds of a key's window. Below a day, keys would go while clients still retry,
// and the database refuses to lose them.
const (
	keyWindowMin = 24 * time.Hour
	keyWindowMax = 72 * time.Hour
)

func (c Keys) relations() []string {
	if c.KeyWindow < keyWindowMin || c.KeyWindow > keyWindowMax {
		return []string{fmt.Sprintf("PAYONCE_KEY_WINDOW is %s: set it to a time from 24h to 72h, the same for intake and reconciler", c.KeyWindow)}
	}
	return nil
}

func (c Intake) relations() []string {
	problems := c.Keys.relations()
	if c.HTTPAddr == c.AdminAddr && !c.HTTPAddr.anyPort() {
		problems = append(problems, fmt.Sprintf("PAYONCE_HTTP_ADDR and PAYONCE_ADMIN_ADDR are both %s: give them different ports", c.HTTPAddr))
	}
	if accounts, lists := len(c.List), len(c.WebhookSecrets); accounts > 0 && lists > 0 && accounts != lists {
		problems = append(problems, fmt.Sprintf("PAYONCE_PROVIDER lists %d accounts and PAYONCE_PROVIDER_WEBHOOK_SECRETS those of %d: "+
			"give the secrets of each account, in the same order, and an empty item where it has none", accounts, lists))
	}
	if c.KafkaDoor && len(c.Brokers) == 0 {
		problems = append(problems, "PAYONCE_KAFKA_DOOR is true and PAYONCE_KAFKA_BROKERS has no brokers: set it to HOST:PORT of one or more, "+
			"or PAYONCE_KAFKA_DOOR to false")
	}
	return append(problems, c.rateProblems()...)
}

// rateMax and burstMax keep a typing mistake from being a limit.
const (
	rateMax  = 100_000
	burstMax = 1_000_000
)

func (c Intake) rateProblems() []string {
	var problems []string
	if c.RateLimit < 0 || c.RateLimit > rateMax {
		problems = append(problems, fmt.Sprintf("PAYONCE_RATE_LIMIT is %d: set it to 1 to %d, or to 0 for no limit", c.RateLimit, rateMax))
	}
	if c.RateBurst < 0 || c.RateBurst > burstMax {
		problems = append(problems, fmt.Sprintf("PAYONCE_RATE_BURST is %d: set it to 1 to %d, or leave it out", c.RateBurst, burstMax))
	}
	if c.RateLimit == 0 && c.RateBurst > 0 {
		problems = append(problems, "PAYONCE_RATE_BURST is set and PAYONCE_RATE_LIMIT is 0, which is no limit: remove one of them")
	}
	return problems
}

// Burst is RateBurst with its default.
func (c Intake) Burst() int {
	if c.RateBurst == 0 {
		return 2 * c.RateLimit
	}
	return c.RateBurst
}

// SecretsOf returns the webhook secrets of the account at an index of List. The
// lists must have passed the checks.
func (c Intake) SecretsOf(i int) []string {
	if i >= len(c.WebhookSecrets) {
		return nil
	}
	return c.WebhookSecrets[i]
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

// driftIntervalMin keeps a scan from reading nothing but its margins.
const driftIntervalMin = time.Minute

func (c Reconciler) relations() []string {
	problems := append(c.Providers.relations(), c.Keys.relations()...)
	if c.DriftInterval != 0 && c.DriftInterval < driftIntervalMin {
		problems = append(problems, fmt.Sprintf("PAYONCE_DRIFT_INTERVAL is %s: set it to %s or more, or to 0 to scan by payctl only",
			c.DriftInterval, driftIntervalMin))
	}
	return problems
}

func (c Providers) relations() []string {
	var problems []string
	for _, list := range []struct {
		name, what string
		items      int
	}{
		{"PAYONCE_PROVIDER_URL", "URL", len(c.URLs)}, {"PAYONCE_PROVIDER_KEY", "key", len(c.Keys)}, {"PAYONCE_PROVIDER_ACCOUNT", "name", len(c.IDs)},
	} {
		if accounts := len(c.List); accounts > 0 && list.items > 0 && accounts != list.items {
			problems = append(problems, fmt.Sprintf("PAYONCE_PROVIDER lists %d accounts and %s %d %ss: "+
				"give one %s for each account, in the same order, and an empty one where it has none", accounts, list.name, list.items, list.what, list.what))
		}
	}
	if c.Timeout <= 0 {
		problems = append(problems, notPositive("PAYONCE_PROVIDER_TIMEOUT", c.Timeout))
	}
	return problems
}

func (c Migrate) relations() []string      { return nil }
func (c TopicsTool) relations() []string   { return nil }
func (c MerchantTool) relations() []string { return nil }
func (c OperatorTool) relations() []string { return nil }
func (c DriftTool) relations() []string    { return c.Providers.relations() }

func notPositive(name string, d time.Duration) string {
	return fmt.Sprintf("%s is %s: set it to a time above zero", name, d)
}

// Of returns what the lists say about the account at an index of List: empty where
// they say nothing. The lists must have passed the checks.
func (c Providers) Of(i int) (address, key, id string) {
	return item(c.URLs, i), item(c.Keys, i), item(c.IDs, i)
}

func item[L ~[]string](list L, i int) string {
	if i >= len(list) {
		return ""
	}
	return list[i]
}
