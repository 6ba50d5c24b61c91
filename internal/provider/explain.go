package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Explain says in words what the provider declares and what follows from it, and
// names what is left uncertain. Operators read it before they trust a connector.
func Explain(c Capabilities) string {
	var b strings.Builder
	section(&b, "Declared", declared(c))
	section(&b, "When an outcome is unknown", plan(c))
	section(&b, "What is left", residue(c))
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "%s\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  - %s\n", line)
	}
}

func declared(c Capabilities) []string {
	lines := []string{
		declaredKey(c.Key),
		declaredInquiry(c),
		choose(c.VoidByReference, "void "+by(c)+": yes, it closes the door to a late arrival", "void "+by(c)+": no"),
		choose(c.SettlementFile, "settlement file: yes", "settlement file: no"),
		fmt.Sprintf("one call takes at most %s", c.Timeout),
	}
	if c.Prepares {
		lines = append(lines, "a charge is prepared first: an object that moves nothing, whose id is stored before the money-moving request; "+
			"without a stored id there was no such request")
	}
	return append(lines, declaredMoney(c)...)
}

// declaredMoney names the currencies whose amounts are not written as ISO 4217
// writes them. The simulated providers have none.
func declaredMoney(c Capabilities) []string {
	var lines []string
	if len(c.Currencies) > 0 {
		lines = append(lines, fmt.Sprintf("currencies: %d; any other is refused at intake", len(c.Currencies)))
	}
	for _, currency := range slices.Sorted(maps.Keys(c.Exponents)) {
		lines = append(lines, fmt.Sprintf("%s has %d decimals at the provider; what does not fit is refused at intake", currency, c.Exponents[currency]))
	}
	for _, currency := range slices.Sorted(maps.Keys(c.Multiples)) {
		lines = append(lines, fmt.Sprintf("%s amounts are multiples of %d units; others are refused at intake", currency, c.Multiples[currency]))
	}
	return lines
}

func declaredKey(k Key) string {
	if !k.Supported {
		return "idempotency key: no"
	}
	where := "in the body"
	if k.Header != "" {
		where = "in the header " + k.Header
	}
	text := fmt.Sprintf("idempotency key: %s, up to %d bytes, kept for %s", where, k.LengthMax, k.Horizon)
	if k.KeepsFailures {
		text += ", failures too"
	}
	if k.Serialises {
		text += ", simultaneous requests one after the other"
	}
	return text
}

func declaredInquiry(c Capabilities) string {
	switch {
	case !c.Inquiry.Supported:
		return "inquiry " + by(c) + ": no"
	case c.Inquiry.NotFoundAuthoritative:
		return fmt.Sprintf("inquiry %s: yes; \"not found\" proves that nothing was taken, %s after the last possible send", by(c), c.Inquiry.Grace)
	}
	return "inquiry " + by(c) + ": yes; \"not found\" proves nothing"
}

// by is what the provider is asked by. An object that exists is never "not found":
// there the words stand for "nobody asked it to move money".
func by(c Capabilities) string {
	return choose(c.Prepares, "by the prepared object", "by reference")
}

func plan(c Capabilities) []string {
	var lines []string
	if c.Inquiry.Supported {
		lines = append(lines, "ask first, always, and go on asking at growing intervals up to "+CheckIntervalMax.String())
	}
	if c.Key.Supported {
		after := choose(c.Inquiry.Supported, "after \"not found\": ", "")
		lines = append(lines, fmt.Sprintf("%sresend with the same key until %s after the first possible send, and not after chargeBefore; never later",
			after, resendWindow(c.Key)))
	}
	switch {
	case c.Inquiry.Supported && c.Inquiry.NotFoundAuthoritative && c.VoidByReference:
		lines = append(lines, "no resend possible and still \"not found\": void "+by(c)+", then settle as not taken")
	case c.Inquiry.Supported && c.Inquiry.NotFoundAuthoritative:
		lines = append(lines, "no resend possible and still \"not found\": settle as not taken; the door cannot be closed")
	case c.Inquiry.Supported:
		lines = append(lines, "never settle on \"not found\" alone")
	}
	if !c.Inquiry.Supported || !c.Inquiry.NotFoundAuthoritative {
		lines = append(lines, "otherwise wait, visibly, for "+choose(c.SettlementFile, "the settlement file or a person", "a person"))
	}
	return lines
}

func residue(c Capabilities) []string {
	var lines []string
	if c.Key.Supported {
		lines = append(lines, fmt.Sprintf("a resend is safe only while the provider keeps its word about %s", c.Key.Horizon))
	}
	if c.Inquiry.Supported && c.Inquiry.NotFoundAuthoritative {
		lines = append(lines, frozenBytes(c))
	}
	if !c.Inquiry.Supported || !c.Inquiry.NotFoundAuthoritative {
		unresolved := choose(c.Key.Supported, "an operation whose answer and those of its resends were cut", "an operation whose answer was cut") +
			choose(c.Inquiry.Supported, ", and that no inquiry finds,", "")
		lines = append(lines, unresolved+" stays unknown until "+
			choose(c.SettlementFile, "the settlement file or a person decides", "a person decides"))
	}
	return lines
}

// frozenBytes tells what no deadline of ours reaches: what the kernel was given.
func frozenBytes(c Capabilities) string {
	when := choose(c.Key.Supported, "where no resend is possible, ", "")
	text := when + "bytes that the kernel held when our process or the network froze may arrive later than the grace of " + c.Inquiry.Grace.String()
	if c.VoidByReference {
		return text + "; the door is closed before, and what is left is the provider's word that it refuses them"
	}
	return text + "; a movement that was settled as not taken is then taken, and shows as a difference to the provider's list"
}

func resendWindow(k Key) time.Duration {
	first := time.Unix(0, 0)
	return k.ResendUntil(first).Sub(first)
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
