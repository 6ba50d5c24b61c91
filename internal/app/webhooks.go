package app

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/internal/webhook"
)

// webhookSources are the accounts whose webhooks are taken. Those of the others are
// refused, which is said here once: nothing is lost by it but time, because the
// reconciler asks anyway.
func webhookSources(c config.Intake, log *zap.Logger) (map[string]webhook.Source, error) {
	sources := map[string]webhook.Source{}
	for i, account := range c.List {
		notifier, err := connectors.Notifier(account.Connector)
		if err != nil {
			return nil, fmt.Errorf("provider account %s: %w", account.Name, err)
		}
		secrets := c.SecretsOf(i)
		if notifier == nil || len(secrets) == 0 {
			log.Info("webhooks of this account are refused: PAYONCE_PROVIDER_WEBHOOK_SECRETS has none for it",
				zap.String("provider_account", account.Name))
			continue
		}
		sources[account.Name] = webhook.Source{Notifier: notifier, Secrets: secrets}
	}
	return sources, nil
}

// checkWebhooks says what is wrong with the form of secrets, and never what they are.
// Unknown connectors have been reported already.
func checkWebhooks(c config.Intake) []string {
	var problems []string
	for i, account := range c.List {
		notifier, err := connectors.Notifier(account.Connector)
		secrets := c.SecretsOf(i)
		if err != nil || len(secrets) == 0 {
			continue
		}
		if notifier == nil {
			problems = append(problems, fmt.Sprintf(
				"PAYONCE_PROVIDER_WEBHOOK_SECRETS: the provider of account %s sends no webhooks; leave its item empty", account.Name))
			continue
		}
		for n, secret := range secrets {
			if err := notifier.CheckSecret(secret); err != nil {
				problems = append(problems, fmt.Sprintf("PAYONCE_PROVIDER_WEBHOOK_SECRETS: number %d of account %s: %v", n+1, account.Name, err))
			}
		}
	}
	return problems
}
