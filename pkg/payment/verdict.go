package payment

import "fmt"

// Verdict is what one piece of evidence says about one operation's movement.
type Verdict int

// The verdicts. The zero value is the safe one: forgetting to assign can never
// look like an outcome.
const (
	// VerdictUnclear proves nothing: a timeout, a cut, a foreign answer.
	VerdictUnclear Verdict = iota
	// VerdictCaptured says that this operation's movement took place, whatever
	// its kind: a refund's evidence is "captured" when the refund happened.
	VerdictCaptured
	// VerdictDeclined says that the provider refused, finally.
	VerdictDeclined
	// VerdictNotTaken says that the provider does not have this operation.
	VerdictNotTaken
	// VerdictPending says that the provider took it and the result follows.
	VerdictPending
)

var verdictNames = [...]string{"unclear", "captured", "declined", "not_taken", "pending"}

// String returns the stored form of the verdict.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return verdictNames[VerdictUnclear]
	}
	return verdictNames[v]
}

// ParseVerdict reads the stored form back.
func ParseVerdict(s string) (Verdict, error) {
	for i, name := range verdictNames {
		if name == s {
			return Verdict(i), nil
		}
	}
	return VerdictUnclear, fmt.Errorf("%q is no verdict", s)
}
