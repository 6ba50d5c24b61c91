package app

import (
	"fmt"

	// The certificates of public authorities, for images that hold nothing but the
	// program. They are used only where the system has none, so that a bundle
	// mounted at /etc/ssl/certs/ca-certificates.crt (or SSL_CERT_FILE) replaces them.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/money"
)

// accounts are connectors by the provider accounts that they serve.
type accounts map[string]provider.Connector

// connect makes the connectors. They connect at their first call.
func connect(c config.Providers) (accounts, error) {
	made := accounts{}
	for i, account := range c.List {
		address, key, id := c.Of(i)
		connector, err := connectors.New(account.Connector, connectors.Options{Address: address, Key: key, Account: id, Timeout: c.Timeout})
		if err != nil {
			made.close()
			return nil, fmt.Errorf("provider account %s: %w", account.Name, err)
		}
		made[account.Name] = connector
	}
	return made, nil
}

// close gives back the connections that connectors keep open.
func (a accounts) close() {
	for _, connector := range a {
		if closer, ok := connector.(interface{ Close() }); ok {
			closer.Close()
		}
	}
}

// chargeable refuses at intake what the provider would have to refuse later (I10).
func chargeable(c config.Accounts) (func(account string, a money.Amount) error, error) {
	return connectors.Chargeable(connectorsOf(c))
}

// refundable refuses at intake what the provider cannot give back.
func refundable(c config.Accounts) (func(account string, a money.Amount) error, error) {
	return connectors.Refundable(connectorsOf(c))
}

func connectorsOf(c config.Accounts) map[string]string {
	byAccount := make(map[string]string, len(c.List))
	for _, account := range c.List {
		byAccount[account.Name] = account.Connector
	}
	return byAccount
}

// What config cannot know: which connectors there are, and what a lease is for.

func checkIntake(c config.Intake) []string { return unknownConnectors(c.Accounts) }

func checkReconciler(c config.Reconciler) []string {
	problems := unknownConnectors(c.Accounts)
	if len(problems) > 0 {
		return problems
	}
	served, problems := connectable(c.Providers)
	served.close()
	return problems
}

func checkWorker(c config.Worker) []string {
	problems := unknownConnectors(c.Accounts)
	if len(problems) > 0 {
		return problems
	}
	served, problems := connectable(c.Providers)
	defer served.close()
	if len(served) == 0 || c.Lease <= 0 {
		return problems
	}
	if err := (worker.Config{Name: "checked", Accounts: served, Lease: c.Lease}).Validate(); err != nil {
		problems = append(problems, fmt.Sprintf("PAYONCE_LEASE (%s) is too short for PAYONCE_PROVIDER_TIMEOUT (%s): %v", c.Lease, c.Timeout, err))
	}
	return problems
}

// connectable makes the connectors as the process would, and says what they refuse.
// Lists that do not fit each other have been reported already.
func connectable(c config.Providers) (accounts, []string) {
	for _, items := range []int{len(c.URLs), len(c.Keys), len(c.IDs)} {
		if items > 0 && items != len(c.List) {
			return nil, nil
		}
	}
	if c.Timeout <= 0 {
		return nil, nil
	}
	served, err := connect(c)
	if err != nil {
		return nil, []string{"PAYONCE_PROVIDER, PAYONCE_PROVIDER_URL, PAYONCE_PROVIDER_KEY: " + err.Error()}
	}
	return served, nil
}

func unknownConnectors(c config.Accounts) []string {
	var problems []string
	for _, account := range c.List {
		if _, err := connectors.Declared(account.Connector); err != nil {
			problems = append(problems, "PAYONCE_PROVIDER: "+err.Error())
		}
	}
	return problems
}
