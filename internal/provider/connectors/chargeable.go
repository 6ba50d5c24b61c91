package connectors

import (
	"fmt"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
)

// Chargeable returns what refuses at intake an amount that the provider would have
// to refuse later (I10), for accounts and the names of their connectors. An account
// that is not among them is not judged: its payments wait, visibly, until a worker
// serves it. Errors: an unknown connector.
func Chargeable(accounts map[string]string) (func(account string, a money.Amount) error, error) {
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
		_, err := capabilities.Units(a)
		return err
	}, nil
}
