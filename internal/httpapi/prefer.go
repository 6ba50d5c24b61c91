package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WaitMax is the longest that a client can wait for its payment. It is well below
// what proxies and load balancers allow a request that says nothing.
const WaitMax = 30 * time.Second

// preferredWait returns how long the client prefers to wait for a final state, in
// whole seconds and at most WaitMax; 0 when it does not. What is malformed is no
// preference, and of several only the first one counts.
// Source: RFC 7240, sections 2 and 4.3.
func preferredWait(header http.Header) time.Duration {
	for _, line := range header.Values("Prefer") {
		for _, preference := range splitUnquoted(line, ',') {
			preference = splitUnquoted(preference, ';')[0] // behind it are parameters, and wait has none
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "wait") {
				return seconds(strings.TrimSpace(value))
			}
		}
	}
	return 0
}

// seconds reads a number of seconds, bare or quoted. What is no number is 0, and
// what is no number only because it is too large is WaitMax.
func seconds(text string) time.Duration {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return WaitMax
	}
	return min(time.Duration(n)*time.Second, WaitMax)
}

// splitUnquoted splits at a separator that does not stand in a quoted string.
func splitUnquoted(text string, separator byte) []string {
	var parts []string
	quoted, begin := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++ // whatever comes next is no quote
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == separator:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

// applied is the answer to a wait that was kept to.
func applied(wait time.Duration) string {
	return "wait=" + strconv.Itoa(int(wait/time.Second))
}
