package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

type merchantCommand struct {
	Create      merchantCreate      `cmd:"" help:"Create a merchant and show its API key, this once (PAYONCE_DATABASE_URL)."`
	List        merchantList        `cmd:"" help:"List merchants, the oldest first."`
	Show        merchantShow        `cmd:"" help:"Show a merchant's settings, its API keys without their secrets, and what was changed."`
	Rotate      merchantRotate      `cmd:"" help:"Give a merchant a second API key; the first one works until it is revoked."`
	Revoke      merchantRevoke      `cmd:"" help:"End an API key. Services that have just used it may believe it for five seconds more."`
	Limit       merchantLimit       `cmd:"" help:"Say how fast a merchant's requests may come, at each intake process."`
	Identifiers merchantIdentifiers `cmd:"" help:"Look for card numbers in invoice ids, external references and idempotency keys, too."`
	Legacy      merchantLegacy      `cmd:"" help:"Take requests without an Idempotency-Key, and derive it from the invoice."`
}

type merchantCreate struct {
	Name     string `arg:"" help:"What people call the merchant."`
	Provider string `required:"" placeholder:"ACCOUNT" help:"The provider account that its payments go to."`
	Output   string `enum:"text,json" default:"text" help:"text or json: {\"id\",\"apiKey\"}."`
}

// Run implements the command.
func (c merchantCreate) Run(ctx context.Context, t terminal) error {
	created, err := app.CreateMerchant(ctx, t.environ, c.Name, c.Provider)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return json.NewEncoder(t.out).Encode(created) //nolint:gosec // showing the key is what the command is for
	}
	fmt.Fprintf(t.out, "merchant  %s\n", created.ID)
	tellKey(t, created.APIKey)
	return nil
}

func tellKey(t terminal, key string) {
	fmt.Fprintf(t.out, "API key   %s\nThe key is shown this once: payonce keeps only a hash of it.\n", key)
}

type merchantList struct {
	After uuid.UUID `placeholder:"CURSOR" help:"The next page: the cursor that the page before ended with."`
	format
}

// Run implements the command.
func (c merchantList) Run(ctx context.Context, t terminal) error {
	page, err := app.ListMerchants(ctx, t.environ, c.After)
	if err != nil {
		return err
	}
	return c.tell(t, page, func() {
		table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "MERCHANT\tNAME\tPROVIDER\tLIMIT\tIDENTIFIERS\tLEGACY\tKEYS\tCREATED")
		for _, m := range page.Merchants {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", m.ID, m.Name, m.Provider, limitOf(m.MerchantSettings),
				onOff(m.ChecksIdentifiers), onOff(m.DerivesKeys), m.LiveKeys, shown(&m.CreatedAt))
		}
		_ = table.Flush() // writing to a terminal
		tellMore(t, page.Next)
	})
}

type merchantShow struct {
	Merchant uuid.UUID `arg:"" help:"The merchant."`
	format
}

// Run implements the command.
func (c merchantShow) Run(ctx context.Context, t terminal) error {
	m, err := app.ShowMerchant(ctx, t.environ, c.Merchant)
	if err != nil {
		return err
	}
	return c.tell(t, m, func() {
		fmt.Fprintf(t.out, "merchant  %s\nname      %s\nprovider  %s\ncreated   %s\nsettings  %s\n",
			m.ID, m.Name, m.Provider, shown(&m.CreatedAt), settingsText(m.MerchantSettings))
		for _, k := range m.Keys {
			state := "live"
			if k.RevokedAt != nil {
				state = "revoked " + shown(k.RevokedAt)
			}
			fmt.Fprintf(t.out, "key       %s  created %s  %s\n", k.Prefix, shown(&k.CreatedAt), state)
		}
		for _, change := range m.Changes {
			fmt.Fprintf(t.out, "changed   %s  %s: %s (%s)\n", shown(&change.At), change.By, change.Change, change.Reason)
		}
	})
}

type merchantRotate struct {
	Merchant uuid.UUID `arg:"" help:"The merchant."`
	decision
}

// Run implements the command.
func (c merchantRotate) Run(ctx context.Context, t terminal) error {
	operator, err := c.operator()
	if err != nil {
		return err
	}
	rotated, err := app.RotateMerchantKey(ctx, t.environ, c.Merchant, operator)
	if err != nil {
		return err
	}
	told := struct {
		Merchant uuid.UUID `json:"merchant"`
		APIKey   string    `json:"apiKey,omitempty"`
		Executed bool      `json:"executed"`
	}{c.Merchant, rotated.APIKey, operator.Execute}
	return c.tell(t, told, func() {
		tellEffect(t, "add an API key of merchant "+c.Merchant.String()+"; the others work until they are revoked", operator.Execute)
		if operator.Execute {
			tellKey(t, rotated.APIKey)
		}
	})
}

type merchantRevoke struct {
	Prefix string `arg:"" help:"The key's prefix: the twelve characters between po_ and the next underscore. Never the whole key."`
	decision
}

// Run implements the command.
func (c merchantRevoke) Run(ctx context.Context, t terminal) error {
	operator, err := c.operator()
	if err != nil {
		return err
	}
	revoked, err := app.RevokeMerchantKey(ctx, t.environ, c.Prefix, operator)
	if err != nil {
		return err
	}
	told := struct {
		app.RevokedKey
		Executed bool `json:"executed"`
	}{revoked, operator.Execute}
	return c.tell(t, told, func() {
		left := strconv.Itoa(revoked.KeysLeft) + " live keys are left"
		if revoked.KeysLeft == 0 {
			left = "NO live key is left, so the merchant can do nothing until it has a new one"
		}
		tellEffect(t, "end API key "+revoked.Prefix+" of merchant "+revoked.Merchant.String()+"; "+left, operator.Execute)
	})
}
