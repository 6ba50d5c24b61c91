package main

import (
	"fmt"
	"strings"

	"github.com/payonce/payonce/internal/httpapi"
	"github.com/payonce/payonce/internal/problem"
)

const problemsIntroduction = `<!-- Made from the code by ` + "`go generate ./schema`" + `. Change the code, not this file. -->
# Problems

Every answer that is not what was asked for is a problem document (RFC 9457) with one of these types. The type never changes; its text may.
"Again" says whether the very same request, with the same key, can succeed later. The Kafka door answers with the same documents in
` + "`PaymentRejected`" + `, and has a few types more for what is no command.

| type | status | what it means | again |
|---|---|---|---|
`

// problems renders the table of all problems of the HTTP API.
func problems() []byte {
	var text strings.Builder
	text.WriteString(problemsIntroduction)
	for _, p := range httpapi.Problems() {
		again := "no"
		if p.Retryable {
			again = "yes"
		}
		fmt.Fprintf(&text, "| `%s%s` | %d | %s | %s |\n", problem.Prefix, p.Name, p.Status, p.Title, again)
	}
	return []byte(text.String())
}
