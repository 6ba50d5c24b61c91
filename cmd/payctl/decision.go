package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/payonce/payonce/internal/app"
)

// The longest name and reason that are stored, in characters.
const (
	byMax     = 200
	reasonMax = 2000
)

// rehearsed says that a command has changed nothing.
const rehearsed = "nothing was changed; --execute does it"

// decision is what every command takes that decides something.
type decision struct {
	Reason  string `required:"" placeholder:"TEXT" help:"Why, in your own words; it is kept."`
	By      string `placeholder:"NAME" help:"Who decides. Default: the user that runs the command."`
	Execute bool   `help:"Do it. Without it nothing is changed, and what would happen is said."`
	format
}

// format is how a command tells what it found.
type format struct {
	Output string `enum:"text,json" default:"text" help:"text or json."`
}

func (d decision) operator() (app.Operator, error) {
	o := app.Operator{By: strings.TrimSpace(d.By), Reason: strings.TrimSpace(d.Reason), Execute: d.Execute}
	if o.By == "" {
		current, err := user.Current()
		if err != nil || current.Username == "" {
			return o, usageError{errors.New("--by is needed: the user that runs the command has no name")}
		}
		o.By = current.Username
	}
	switch {
	case o.Reason == "" || utf8.RuneCountInString(o.Reason) > reasonMax:
		return o, usageError{fmt.Errorf("--reason is 1 to %d characters", reasonMax)}
	case utf8.RuneCountInString(o.By) > byMax:
		return o, usageError{fmt.Errorf("--by is at most %d characters", byMax)}
	}
	return o, nil
}

// tell writes what was found as JSON, or lets the text be written.
func (f format) tell(t terminal, found any, text func()) error {
	if f.Output == "json" {
		return json.NewEncoder(t.out).Encode(found)
	}
	text()
	return nil
}

// tellEffect says in text what a decision does.
func tellEffect(t terminal, effect string, executed bool) {
	if executed {
		fmt.Fprintf(t.out, "done: %s\n", effect)
		return
	}
	fmt.Fprintf(t.out, "would %s\n%s\n", effect, rehearsed)
}

// age is as exact as people need it.
func age(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.String()
}

// shown is a moment in UTC, or a dash.
func shown(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
