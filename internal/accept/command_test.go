package accept

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/pkg/money"
)

// command returns a command that breaks no rule.
func command() Command {
	return Command{
		MerchantID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000001"), ProviderAccount: "simulated", IdempotencyKey: "k-1",
		InvoiceID: "INV-1", PaymentType: "invoice", Amount: "10.00", Currency: "TRY",
		PaymentMethod: new("tok_visa"), Customer: new("cus_1"), ExternalReference: new("PO 7"),
		Metadata: []byte(`{"order":7}`), ChargeBefore: new("2036-05-04T03:02:01Z"),
	}
}

// with returns the command after a change.
func with(change func(*Command)) Command {
	c := command()
	change(&c)
	return c
}

func TestEveryBrokenRuleOfACommandIsNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		change func(*Command)
		field  string
	}{
		"no invoice":                {func(c *Command) { c.InvoiceID = "" }, FieldInvoiceID},
		"invoice too long":          {func(c *Command) { c.InvoiceID = long }, FieldInvoiceID},
		"invoice with a line break": {func(c *Command) { c.InvoiceID = "INV\n1" }, FieldInvoiceID},
		"invoice with a NUL":        {func(c *Command) { c.InvoiceID = "INV\x001" }, FieldInvoiceID},
		"a look-alike letter":       {func(c *Command) { c.InvoiceID = "ІNV-1" }, FieldInvoiceID}, // U+0406
		"an invisible character":    {func(c *Command) { c.InvoiceID = "INV\u200b-1" }, FieldInvoiceID},
		"a space at the end":        {func(c *Command) { c.InvoiceID = "INV-1 " }, FieldInvoiceID},
		"not UTF-8":                 {func(c *Command) { c.InvoiceID = "INV\xff" }, FieldInvoiceID},
		"no type":                   {func(c *Command) { c.PaymentType = "" }, FieldPaymentType},
		"type too long":             {func(c *Command) { c.PaymentType = long }, FieldPaymentType},
		"empty payment method":      {func(c *Command) { c.PaymentMethod = new("") }, FieldPaymentMethod},
		"payment method too long":   {func(c *Command) { c.PaymentMethod = &long }, FieldPaymentMethod},
		"customer with a tab":       {func(c *Command) { c.Customer = new("a\tb") }, FieldCustomer},
		"empty reference":           {func(c *Command) { c.ExternalReference = new("") }, FieldExternalReference},
		"no amount":                 {func(c *Command) { c.Amount = "" }, FieldAmount},
		"zero":                      {func(c *Command) { c.Amount = "0.00" }, FieldAmount},
		"negative":                  {func(c *Command) { c.Amount = "-10.00" }, FieldAmount},
		"exponent":                  {func(c *Command) { c.Amount = "1e2" }, FieldAmount},
		"grouping":                  {func(c *Command) { c.Amount = "1,000.00" }, FieldAmount},
		"too precise":               {func(c *Command) { c.Amount = "10.000" }, FieldAmount},
		"beyond the bound":          {func(c *Command) { c.Amount = "10000000000000.01" }, FieldAmount},
		"beyond any number":         {func(c *Command) { c.Amount = strings.Repeat("9", 100) }, FieldAmount},
		"no currency":               {func(c *Command) { c.Currency = "" }, FieldCurrency},
		"lower case currency":       {func(c *Command) { c.Currency = "try" }, FieldCurrency},
		"unknown currency":          {func(c *Command) { c.Currency = "XQX" }, FieldCurrency},
		"decimals of JPY":           {func(c *Command) { c.Currency, c.Amount = "JPY", "10.0" }, FieldAmount},
		"metadata is a list":        {func(c *Command) { c.Metadata = []byte(`[]`) }, FieldMetadata},
		"metadata is a text":        {func(c *Command) { c.Metadata = []byte(`"{}"`) }, FieldMetadata},
		"metadata is cut":           {func(c *Command) { c.Metadata = []byte(`{"a":1`) }, FieldMetadata},
		"metadata twice":            {func(c *Command) { c.Metadata = []byte(`{}{}`) }, FieldMetadata},
		"metadata too large":        {func(c *Command) { c.Metadata = []byte(`{"a":"` + strings.Repeat("x", MetadataBytesMax) + `"}`) }, FieldMetadata},
		"metadata grows too large":  {func(c *Command) { c.Metadata = []byte(`{"a":[` + strings.Repeat("1e20,", 1600) + `1]}`) }, FieldMetadata},
		"metadata too deep":         {func(c *Command) { c.Metadata = []byte(`{"a":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`) }, FieldMetadata},
		"metadata with a NUL":       {func(c *Command) { c.Metadata = []byte(`{"a":"\u0000"}`) }, FieldMetadata},
		"a NUL in a name":           {func(c *Command) { c.Metadata = []byte(`{"\u0000":1}`) }, FieldMetadata},
		"metadata beyond a double":  {func(c *Command) { c.Metadata = []byte(`{"a":1e400}`) }, FieldMetadata},
		"two members of a name":     {func(c *Command) { c.Metadata = []byte(`{"a":1,"\u0061":2}`) }, FieldMetadata},
		"a date without a time":     {func(c *Command) { c.ChargeBefore = new("2036-05-04") }, FieldChargeBefore},
		"a time without a zone":     {func(c *Command) { c.ChargeBefore = new("2036-05-04T03:02:01") }, FieldChargeBefore},
		"an empty time":             {func(c *Command) { c.ChargeBefore = new("") }, FieldChargeBefore},
	} {
		_, err := with(c.change).Validate()
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, name)
		require.Len(t, invalid.Fields, 1, name)
		require.Equal(t, c.field, invalid.Fields[0].Field, name)
	}
}

func TestAllBrokenRulesAreNamedAtOnceAndNoValueIs(t *testing.T) {
	t.Parallel()
	_, err := Command{IdempotencyKey: "k", InvoiceID: "secret\x00", PaymentMethod: new("tok_sécret")}.Validate()
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	fields := make([]string, len(invalid.Fields))
	for i, f := range invalid.Fields {
		fields[i] = f.Field
	}
	require.Equal(t, []string{FieldInvoiceID, FieldPaymentType, FieldPaymentMethod, FieldCurrency, FieldAmount}, fields)
	require.NotContains(t, err.Error(), "cret")
}

func TestI6_NoDoorLetsABadKeyIn(t *testing.T) {
	t.Parallel()
	_, err := with(func(c *Command) { c.IdempotencyKey = "" }).Validate()
	require.ErrorIs(t, err, idempotency.ErrKeyEmpty)
	_, err = with(func(c *Command) { c.IdempotencyKey = "a b" }).Validate()
	require.ErrorIs(t, err, idempotency.ErrKeyMalformed)
}

func TestI10_AmountsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, minor := range map[string]int64{
		"10 TRY": 1000, "10.5 TRY": 1050, "19.99 TRY": 1999, "0.01 TRY": 1, "10000000000000.00 TRY": 1_000_000_000_000_000,
		"100 JPY": 100, "0.001 KWD": 1, "1.5 KWD": 1500, "90071992547.41 USD": 9007199254741,
	} {
		amount, currency, _ := strings.Cut(text, " ")
		request, err := with(func(c *Command) { c.Amount, c.Currency = amount, currency }).Validate()
		require.NoError(t, err, text)
		require.Equal(t, minor, request.amount.Minor(), text)
		require.Equal(t, money.Currency(currency), request.amount.Currency(), text)
	}
}

func fingerprint(t *testing.T, c Command) idempotency.Fingerprint {
	t.Helper()
	request, err := c.Validate()
	require.NoError(t, err)
	sum, err := request.canonical().Fingerprint()
	require.NoError(t, err)
	return sum
}

func TestI8_TheSameRequestInOtherWordsIsTheSame(t *testing.T) {
	t.Parallel()
	want := fingerprint(t, command())
	for name, change := range map[string]func(*Command){
		"fewer decimals":      func(c *Command) { c.Amount = "10" },
		"metadata with space": func(c *Command) { c.Metadata = []byte(" { \"\\u006frder\" :\n7 } ") },
		"another time zone":   func(c *Command) { c.ChargeBefore = new("2036-05-04T06:02:01.000000+03:00") },
		"another trace":       func(c *Command) { c.TraceParent, c.CorrelationID = "00-1", "c-2" },
		"moved to another provider account": func(c *Command) {
			c.ProviderAccount = "other" // the merchant's setting, not the client's wish
		},
	} {
		require.Equal(t, want, fingerprint(t, with(change)), name)
	}
	require.Equal(t,
		fingerprint(t, with(func(c *Command) { c.Metadata = []byte(`{"b":1.0,"a":[1e1,null]}`) })),
		fingerprint(t, with(func(c *Command) { c.Metadata = []byte(`{"a":[10.0,null],"b":1.00}`) })))
}

func TestI8_EveryFieldIsPartOfTheFingerprint(t *testing.T) {
	t.Parallel()
	plain := command()
	stored := must(t, plain)
	for field, change := range map[string]func(*Command){
		FieldInvoiceID:         func(c *Command) { c.InvoiceID = "INV-2" },
		FieldPaymentType:       func(c *Command) { c.PaymentType = "Invoice" },
		FieldAmount:            func(c *Command) { c.Amount = "10.01" },
		FieldPaymentMethod:     func(c *Command) { c.PaymentMethod = new("tok_amex") },
		FieldCustomer:          func(c *Command) { c.Customer = nil },
		FieldExternalReference: func(c *Command) { c.ExternalReference = new("PO 8") },
		FieldMetadata:          func(c *Command) { c.Metadata = []byte(`{"order":9007199254740993}`) },
		FieldChargeBefore:      func(c *Command) { c.ChargeBefore = new("2036-05-04T03:02:01.000001Z") },
		FieldCurrency:          func(c *Command) { c.Currency = "USD" },
	} {
		later := must(t, with(change))
		require.NotEqual(t, fingerprint(t, plain), fingerprint(t, with(change)), field)
		require.Equal(t, []string{field}, idempotency.Differences(stored.canonical().Fields, later.canonical().Fields))
	}
	require.NotEqual(t,
		fingerprint(t, with(func(c *Command) { c.Metadata = []byte(`{"order":9007199254740992}`) })),
		fingerprint(t, with(func(c *Command) { c.Metadata = []byte(`{"order":9007199254740993}`) })),
		"whole numbers keep their digits")
	require.NotEqual(t,
		fingerprint(t, with(func(c *Command) { c.Metadata = []byte(`{}`) })),
		fingerprint(t, with(func(c *Command) { c.Metadata = nil })))
}

func must(t *testing.T, c Command) Request {
	t.Helper()
	request, err := c.Validate()
	require.NoError(t, err)
	return request
}

func TestI19_TheTokenIsNotAmongTheStoredFields(t *testing.T) {
	t.Parallel()
	for name, value := range must(t, command()).canonical().Fields {
		if value != nil {
			require.NotContains(t, *value, "tok_visa", name)
		}
	}
}

func TestR8_AValidTraceIsCarriedOnAndAnotherOneIsReplaced(t *testing.T) {
	t.Parallel()
	const incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	carried := must(t, with(func(c *Command) { c.TraceParent, c.CorrelationID, c.CausationID = incoming, "c-1", "req-1" })).context
	require.Equal(t, incoming, carried.TraceParent)
	require.Equal(t, "c-1", carried.CorrelationID)
	require.Equal(t, "req-1", carried.CausationID)
	require.Equal(t, "k-1", carried.IdempotencyKey)

	seen := map[string]bool{}
	for _, bad := range []string{"", "rubbish", "00-00000000000000000000000000000000-b7ad6b7169203331-01", incoming + "-x", strings.ToUpper(incoming)} {
		made := must(t, with(func(c *Command) { c.TraceParent = bad })).context.TraceParent
		require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-00$`, made)
		require.False(t, seen[made])
		seen[made] = true
	}
	for _, bad := range []string{"with space", "line\r\nbreak", "é", strings.Repeat("c", CorrelationIDCharsMax+1)} {
		require.Empty(t, must(t, with(func(c *Command) { c.CorrelationID = bad })).context.CorrelationID)
	}
}
