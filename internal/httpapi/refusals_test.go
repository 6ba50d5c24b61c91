package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
)

// refusedCase is a request that must store nothing.
type refusedCase struct {
	body    string
	change  func(*http.Request)
	status  int
	problem string
	field   string // of the first of its errors
}

func header(name string, lines ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		for _, line := range lines {
			r.Header.Add(name, line)
		}
	}
}

func refusedCases() map[string]refusedCase {
	good := order("INV-1", `"10.00"`)
	with := func(member string) string { return strings.TrimSuffix(good, "}") + "," + member + "}" }
	amount := func(text string) refusedCase {
		return refusedCase{order("INV-1", text), nil, 400, "invalid-request", "amount"}
	}
	malformed := func(body string) refusedCase { return refusedCase{body, nil, 400, "malformed-body", ""} }
	invalid := func(body, field string) refusedCase { return refusedCase{body, nil, 400, "invalid-request", field} }
	key := func(lines ...string) refusedCase {
		return refusedCase{good, header("Idempotency-Key", lines...), 400, "idempotency-key-malformed", ""}
	}
	media := func(lines ...string) refusedCase {
		return refusedCase{good, header("Content-Type", lines...), 415, "unsupported-media-type", ""}
	}
	credential := func(lines ...string) refusedCase {
		return refusedCase{good, header("Authorization", lines...), 401, "unauthorized", ""}
	}
	return map[string]refusedCase{
		"no key":               {good, header("Idempotency-Key"), 400, "idempotency-key-missing", ""},
		"empty key":            key(""),
		"empty quoted key":     key(`""`),
		"two key lines":        key("a", "b"),
		"the same key twice":   key("a", "a"),
		"key too long":         key(strings.Repeat("k", idempotency.KeyCharsMax+1)),
		"key with a space":     key("a b"),
		"key beyond ASCII":     key("kö"),
		"key that is not shut": key(`"a`),

		"no credential":        credential(),
		"empty credential":     credential(""),
		"no key in it":         credential("Bearer"),
		"an unknown key":       credential("Bearer po_aaaaaaaaaaaa_" + strings.Repeat("0", 64)),
		"a key of another one": credential("Bearer sk_live_1"),
		"another scheme":       credential("Basic " + strings.Repeat("0", 20)),
		"two credentials":      credential("Bearer a", "Bearer b"),

		"no media type":       media(),
		"a form":              media("application/x-www-form-urlencoded"),
		"a text":              media("text/json"),
		"another charset":     media("application/json; charset=latin1"),
		"a broken type":       media("application/json; charset"),
		"compressed":          {good, header("Content-Encoding", "gzip"), 415, "unsupported-media-type", ""},
		"body too large":      {with(`"metadata":{"a":"` + strings.Repeat("x", BodyBytesMax) + `"}`), nil, 413, "body-too-large", ""},
		"empty body":          malformed(""),
		"white space":         malformed(" \n"),
		"not JSON":            malformed("invoiceId=1"),
		"null":                malformed("null"),
		"a list":              malformed("[" + good + "]"),
		"cut":                 malformed(good[:len(good)-1]),
		"data behind it":      malformed(good + "{}"),
		"a byte order mark":   malformed("\ufeff" + good),
		"invalid UTF-8":       malformed(strings.Replace(good, "INV-1", "INV-\xff", 1)),
		"half a surrogate":    malformed(strings.Replace(good, "INV-1", `INV-\ud800`, 1)),
		"a member twice":      malformed(with(`"amount":"20.00"`)),
		"twice, escaped":      malformed(with(`"\u0061mount":"20.00"`)),
		"twice in metadata":   malformed(with(`"metadata":{"a":1,"a":2}`)),
		"a comment":           malformed(with("/**/")),
		"a control character": malformed(strings.Replace(good, "INV-1", "INV\n1", 1)),

		"unknown member":         invalid(with(`"merchantId":"x"`), "merchantId"),
		"another case":           invalid(strings.Replace(good, "amount", "Amount", 1), "Amount"),
		"a source account":       invalid(with(`"sourceAccount":"x"`), "sourceAccount"),
		"a name that is no name": invalid(with(`"`+token+`":1`), "a member"),
		"no invoice":             invalid(strings.Replace(good, `"invoiceId":"INV-1",`, "", 1), "invoiceId"),
		"null invoice":           invalid(strings.Replace(good, `"INV-1"`, "null", 1), "invoiceId"),
		"invoice is a number":    invalid(strings.Replace(good, `"INV-1"`, "1", 1), "invoiceId"),
		"no type":                invalid(strings.Replace(good, `"paymentType":"invoice",`, "", 1), "paymentType"),
		"unknown currency":       invalid(strings.Replace(good, "TRY", "XYZ", 1), "currency"),
		"metadata is a list":     invalid(with(`"metadata":[]`), "metadata"),
		"metadata too large":     invalid(with(`"metadata":{"a":"`+strings.Repeat("x", accept.MetadataBytesMax)+`"}`), "metadata"),
		"empty customer":         invalid(with(`"customer":""`), "customer"),
		"in the past":            invalid(with(`"chargeBefore":"2020-01-01T00:00:00Z"`), "chargeBefore"),
		"no time":                invalid(with(`"chargeBefore":"tomorrow"`), "chargeBefore"),
		"time is a number":       invalid(with(`"chargeBefore":2000000000`), "chargeBefore"),

		"amount missing":    invalid(strings.Replace(good, `"amount":"10.00",`, "", 1), "amount"),
		"amount null":       amount("null"),
		"amount true":       amount("true"),
		"amount a list":     amount("[10]"),
		"amount empty":      amount(`""`),
		"amount zero":       amount("0"),
		"amount negative":   amount("-1"),
		"amount exponent":   amount("1e2"),
		"amount exponent E": amount(`"1E2"`),
		"amount precise":    amount("10.001"),
		"amount huge":       amount("99999999999999999999"),
		"amount with a +":   amount(`"+10"`),
		"amount spaced":     amount(`" 10"`),
		"amount grouped":    amount(`"1,000"`),
		"amount not ASCII":  amount(`"١٠"`),
	}
}

// amountCases are amounts that are refused, as JSON writes them (I10).
func amountCases() map[string]refusedCase {
	cases := map[string]refusedCase{}
	for _, text := range []string{
		"1e400", "1E2", "-0", "-0.00", "0.00", "0.000", "9999999999999999999", "10000000000000.01", "0.1e1", "10.0000000000000000000000000000000001",
		`"1.000,00"`, `"1,000.00"`, `"1 000"`, `"1_000"`, `"+1"`, `"-0"`, `"-0.00"`, `"1e400"`, `"NaN"`, `"Infinity"`, `"0x10"`, `"010"`, `".5"`, `"5."`,
		`"１０"`, `"1٫5"`, `"10 TRY"`, `"TRY10"`, `"10\u0000"`, `"1\n0"`, `"9999999999999999999"`, `{"value":1}`, `["1"]`, `false`,
	} {
		cases["amount "+text] = refusedCase{order("INV-1", text), nil, 400, "invalid-request", "amount"}
	}
	for _, text := range []string{"+1", "01", "0x10", "NaN", "Infinity", ".5", "5.", "1,5", "1_000", "--1"} { // not JSON
		cases["amount "+text] = refusedCase{order("INV-1", text), nil, 400, "malformed-body", ""}
	}
	for pair, field := range map[string]string{
		"JPY 10.0": "amount", "JPY 10.5": "amount", "KWD 1.2345": "amount", "CLF 1.23456": "amount",
		"XXX 1": "currency", "XAU 1": "currency", "XTS 1": "currency", "DEM 1": "currency", "TRL 1": "currency", "try 1": "currency", "TL 1": "currency",
	} {
		currency, amount, _ := strings.Cut(pair, " ")
		cases[pair] = refusedCase{strings.Replace(order("INV-1", amount), "TRY", currency, 1), nil, 400, "invalid-request", field}
	}
	return cases
}

// cardCases are requests with a card number in them (I19).
func cardCases() map[string]refusedCase {
	const card = "4242 4242 4242 4242"
	refused := func(member, field string) refusedCase {
		return refusedCase{strings.TrimSuffix(order("INV-1", "1"), "}") + "," + member + "}", nil, 400, "card-data-refused", field}
	}
	return map[string]refusedCase{
		"card as payment method": {strings.Replace(order("INV-1", "1"), token, card, 1), nil, 400, "card-data-refused", "paymentMethod"},
		"card as customer":       refused(`"customer":"`+card+`"`, "customer"),
		"card in metadata":       refused(`"metadata":{"note":"paid with `+card+`"}`, "metadata"),
		"card as a number":       refused(`"metadata":{"a":[4242424242424242]}`, "metadata"),
		"card as a name":         refused(`"metadata":{"4242-4242-4242-4242":1}`, "metadata"),
		"card as a member":       {strings.TrimSuffix(order("INV-1", "1"), "}") + `,"4242424242424242":1}`, nil, 400, "invalid-request", "a member"},
	}
}

func TestWhatIsRefusedStoresNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	all := refusedCases()
	maps.Copy(all, amountCases())
	maps.Copy(all, cardCases())
	for name, c := range all {
		change := c.change
		if change == nil {
			change = func(*http.Request) {}
		}
		a := d.post(t, "k-1", c.body, change)
		require.Equal(t, c.status, a.status, "%s: %s", name, a.body)
		p := a.problem(t)
		require.Equal(t, "urn:payonce:problem:"+c.problem, p.Type, name)
		require.False(t, p.Retryable, name)
		require.NotEmpty(t, p.Detail, name)
		if c.field != "" {
			require.Equal(t, c.field, p.Errors[0].Field, name)
		}
		if c.status == http.StatusUnauthorized {
			require.Equal(t, `Bearer realm="payonce"`, a.header.Get("WWW-Authenticate"), name)
		}
		require.NotContains(t, string(a.body), token, "I19: %s", name)
		require.NotContains(t, string(a.body), "4242", "I19: %s", name)
	}
	require.Equal(t, payments(0), d.stored(t))
	for _, line := range d.logs.All() {
		require.NotContains(t, fmt.Sprint(line.Message, line.ContextMap()), "4242", "I19: no log line has it either")
	}
	require.Equal(t, BodyBytesMax, d.post(t, "k-1", refusedCases()["body too large"].body).problem(t).Limit)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-1", order("INV-1", "10.00")).status, "the key was never used")
}

func TestI11_PathsAndMethodsAreProblemsToo(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for request, want := range map[string]struct {
		status int
		allow  string
	}{
		"GET /":                     {404, ""},
		"GET /v1/":                  {404, ""},
		"GET /v2/payments":          {404, ""},
		"POST /v1/payments/":        {404, ""},
		"GET /v1/payments/1/2":      {404, ""},
		"PUT /v1/payments":          {405, "GET, HEAD, POST"},
		"DELETE /v1/payments/1":     {405, "GET, HEAD"},
		"POST /v1/payments/1":       {405, "GET, HEAD"},
		"PUT /v1/payments/1/events": {405, "GET, HEAD"},
		"GET /v1/payments/%00":      {404, ""},
		"GET /v1/payments/%ff%fe":   {404, ""},
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+d.key)
		a := d.send(t, r)
		require.Equal(t, want.status, a.status, request)
		require.Equal(t, want.allow, a.header.Get("Allow"), request)
		a.problem(t)
	}
}

func TestI13_TheSchemesNameHasNoCase(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-1", order("INV-1", "10"), header("Authorization", "bearer "+d.key)).status)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-1", order("INV-1", "10"),
		header("Content-Type", `application/json; charset="UTF-8"`)).status)
}
