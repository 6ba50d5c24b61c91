package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

// merchantSetting is what every command takes that changes one of a merchant's settings.
type merchantSetting struct {
	Merchant uuid.UUID `arg:"" help:"The merchant."`
}

// apply changes the settings and tells what they are then.
func (c merchantSetting) apply(ctx context.Context, t terminal, d decision, change func(*app.MerchantSettings)) error {
	operator, err := d.operator()
	if err != nil {
		return err
	}
	settings, err := app.ConfigureMerchant(ctx, t.environ, c.Merchant, operator, change)
	if err != nil {
		return err
	}
	told := struct {
		Merchant uuid.UUID `json:"merchant"`
		app.MerchantSettings
		Executed bool `json:"executed"`
	}{c.Merchant, settings, operator.Execute}
	return d.tell(t, told, func() {
		tellEffect(t, "set merchant "+c.Merchant.String()+" to "+settingsText(settings), operator.Execute)
	})
}

type merchantLimit struct {
	merchantSetting
	Rate    int  `placeholder:"N" help:"Requests per second, in the long run."`
	Burst   int  `placeholder:"N" help:"Requests at once. Default: twice the rate."`
	Default bool `help:"Give up the merchant's own limit: PAYONCE_RATE_LIMIT is in force again."`
	decision
}

// Run implements the command.
func (c merchantLimit) Run(ctx context.Context, t terminal) error {
	if c.Default == (c.Rate != 0) {
		return usageError{errors.New("give either --rate, with or without --burst, or --default")}
	}
	if c.Burst == 0 {
		c.Burst = 2 * c.Rate
	}
	return c.apply(ctx, t, c.decision, func(s *app.MerchantSettings) { s.RatePerSecond, s.RateBurst = c.Rate, c.Burst })
}

type merchantIdentifiers struct {
	merchantSetting
	Checked string `arg:"" enum:"on,off" help:"on or off."`
	decision
}

// Run implements the command.
func (c merchantIdentifiers) Run(ctx context.Context, t terminal) error {
	return c.apply(ctx, t, c.decision, func(s *app.MerchantSettings) { s.ChecksIdentifiers = c.Checked == "on" })
}

type merchantLegacy struct {
	merchantSetting
	Derived string `arg:"" enum:"on,off" help:"on or off."`
	decision
}

// Run implements the command.
func (c merchantLegacy) Run(ctx context.Context, t terminal) error {
	return c.apply(ctx, t, c.decision, func(s *app.MerchantSettings) { s.DerivesKeys = c.Derived == "on" })
}

func settingsText(s app.MerchantSettings) string {
	return fmt.Sprintf("limit %s, identifiers checked %s, legacy %s", limitOf(s), onOff(s.ChecksIdentifiers), onOff(s.DerivesKeys))
}

func limitOf(s app.MerchantSettings) string {
	if s.RatePerSecond == 0 {
		return "default"
	}
	return fmt.Sprintf("%d/s burst %d", s.RatePerSecond, s.RateBurst)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
