package pspsim

import (
	"fmt"
	"strings"
	"time"
)

// Step is what happens to one request. Its text form is one or more actions
// joined by "+", such as "delay_after:2s+cut_after" or "decline":
//
//	ok                      an ordinary success
//	decline | refuse        a final no
//	pending | pending_decline
//	cut_before              the connection is closed, and nothing happened
//	cut_after | cut_inside  … after the movement, without an answer or inside it
//	error_5xx | error_5xx_after
//	too_many
//	delay_before:D | delay_after:D    before and after the movement
type Step struct {
	outcome     outcome
	fault       fault
	delayBefore time.Duration
	delayAfter  time.Duration
	page        int // status of a gateway's page; 0 is 502
	text        string
}

// outcome is what becomes of the movement itself.
type outcome int

const (
	outcomeCapture outcome = iota
	outcomeDecline
	outcomeRefuse
	outcomePending
	outcomePendingDecline
)

// fault is what becomes of the request or its answer.
type fault int

const (
	faultNone fault = iota
	faultCutBefore
	faultCutAfter
	faultCutInside
	fault5xxBefore
	fault5xxAfter
	faultTooMany
)

// before reports whether the fault keeps the request from moving anything.
func (f fault) before() bool {
	return f == faultCutBefore || f == fault5xxBefore || f == faultTooMany
}

var outcomes = map[string]outcome{
	"ok": outcomeCapture, "decline": outcomeDecline, "refuse": outcomeRefuse,
	"pending": outcomePending, "pending_decline": outcomePendingDecline,
}

var stepFaults = map[string]fault{
	"cut_before": faultCutBefore, "cut_after": faultCutAfter, "cut_inside": faultCutInside,
	"error_5xx": fault5xxBefore, "error_5xx_after": fault5xxAfter, "too_many": faultTooMany,
}

// ParseStep reads the text form.
func ParseStep(text string) (Step, error) {
	step := Step{text: text}
	for action := range strings.SplitSeq(text, "+") {
		name, argument, hasArgument := strings.Cut(action, ":")
		if hasArgument {
			if err := step.delay(name, argument); err != nil {
				return Step{}, err
			}
		} else if o, ok := outcomes[name]; ok {
			step.outcome = o
		} else if f, ok := stepFaults[name]; ok {
			step.fault = f
		} else {
			return Step{}, fmt.Errorf("%q is no action", action)
		}
	}
	return step, nil
}

func (s *Step) delay(name, argument string) error {
	delay, err := time.ParseDuration(argument)
	if err != nil || delay < 0 || delay > delayMax {
		return fmt.Errorf("%s: %q is not a duration between 0 and %s", name, argument, delayMax)
	}
	switch name {
	case "delay_before":
		s.delayBefore = delay
	case "delay_after":
		s.delayAfter = delay
	default:
		return fmt.Errorf("%q takes no argument", name)
	}
	return nil
}

// MarshalText renders the step as it was written.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.text), nil }

// UnmarshalText reads the text form.
func (s *Step) UnmarshalText(text []byte) error {
	parsed, err := ParseStep(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
