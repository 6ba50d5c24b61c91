package connectors

import (
	"errors"
	"fmt"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
)

// Chargeable returns what refuses at intake an amount that the provider would have
// to refuse later (I10), for accounts and the names of their connectors. An account
// that is not among them is not judged: its payments wait, visibly, until a worker
// serves it. Errors: an unknown connector.
func Chargeable(accounts map[string]string) (func(account string, a money.Amount) error, error) {
	return judged(accounts, func(c provider.Capabilities, a money.Amount) error {
		_, err := c.Units(a)
		return err
	})
}

// Refundable is Chargeable for refunds: it refuses them at a provider without any, too.
func Refundable(accounts map[string]string) (func(account string, a money.Amount) error, error) {
	return judged(accounts, func(c provider.Capabilities, a money.Amount) error {
		if !c.Refunds {
			return errNoRefunds
		}
		_, err := c.Units(a)
		return err
	})
}

var errNoRefunds = errors.New("has no refunds")

func judged(accounts map[string]string, judge func(provider.Capabilities, money.Amount) error) (func(account string, a money.Amount) error, error) {
	declared := make(map[string]provider.Capabilities, len(accounts))
	for account, connector := range accounts {
		capabilities, err := Declared(connector)
		if err != nil {
			return nil, fmt.Errorf("provider account %s: %w", account, err)
		}
		declared[account] = capabilities
	}
	return func(account string, a money.Amount) error {
		capabilities, known := declared[account]
		if !known {
			return nil
		}
		return judge(capabilities, a)
	}, nil
}
