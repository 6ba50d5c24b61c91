package accept

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// testCards are numbers that schemes and providers publish for tests.
var testCards = []string{
	"4242424242424242", "4000056655665556", // Visa
	"5555555555554444", "2223003122003222", "5105105105105100", // Mastercard
	"378282246310005", "371449635398431", // American Express
	"6011111111111117", "6011000990139424", // Discover
	"3056930009020004", "36227206271667", "30569309025904", // Diners Club
	"3566002020360505",                        // JCB
	"6200000000000005", "6205500000000000004", // UnionPay
	"6759649826438453",  // Maestro
	"2200000000000004",  // Mir
	"9792030394440796",  // Troy
	"6070000000000002",  // RuPay
	"6362970000457013",  // Elo
	"6062826786276634",  // Hipercard
	"50339619890917051", // Maestro, 17 digits
}

func TestI19_PublishedTestCardsAreRecognised(t *testing.T) {
	t.Parallel()
	for _, card := range testCards {
		require.True(t, HasCardNumber(card), card)
	}
	for _, written := range []string{
		"4242 4242 4242 4242", "4242-4242-4242-4242", "4242 - 4242 - 4242 - 4242", "3782 822463 10005", "3622 720627 1667",
		"4242\u00a04242\u00a04242\u00a04242", "4242–4242–4242–4242", "４２４２４２４２４２４２４２４２", "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢",
		"card: 4242424242424242, exp 12/30", "tok_4242424242424242", "2026-11-30 4242424242424242", "paid with 4242 4242 4242 4242 on 30 11",
		"(4242424242424242)", "INV-4242424242424242", "4242424242424242.0", "12 4242 4242 4242 4242",
		"4111.1111.1111.1111", "4111/1111/1111/1111", "4111_1111_1111_1111", "41111111 11111111", "4111    1111 1111 1111",
		"4111\u200b1111\u200b1111\u200b1111", "4\u200b1\u200d1\ufeff11111111\u00ad11111", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "41 11 11 11 11 11 11 11",
		"PAN4111111111111111", "Visa 4111111111111111x", "4111111111111111EXP1227", "PAN4111 1111 1111 1111EXP1227", "a4242424242424242",
		"4242424242424242ab3", "card_4242424242424242_visa",
	} {
		require.True(t, HasCardNumber(written), written)
	}
}

func TestI19_NumbersThatAreNoCardsPass(t *testing.T) {
	t.Parallel()
	for _, other := range []string{
		"", "7", "tok_visa", "pm_1PxYz2424242424242424242",
		"4242424242424241",                  // the check digit is wrong
		"424242424242424",                   // 15 digits are no Visa
		"1764539130000", "1764539130000000", // times in milliseconds and microseconds
		"20261130220000",                                       // a time in digits
		"0190a1b2-c3d4-7000-8000-000000000001",                 // UUIDs
		"42424242-4242-4242-8242-424242424242",                 // all digits, and a right check digit in it
		"a4242424242424242ab3cd7e", "4242424242424242ab3cd7ea", // hashes
		"TR330006100519786457841326",                                                // an IBAN
		"DK4000404376544330",                                                        // one whose digits would be a Visa's
		"1800000000000000",                                                          // a time in January 2027, in microseconds
		"23.11.2026-18.01.2027", "23/11/2026 09/02/2027", "26.01.2026 - 01.01.2027", // what a subscription is for
		"192.168.100.200 192.168.100.201", "4.111.111.111.111.111", "10:30:00 10:45:30",
		"+90 532 000 00 00", // a telephone
		"9999999999999999",  // no issuer
		"4242 4242 4242", "4242,4242,4242,4242",
	} {
		require.False(t, HasCardNumber(other), other)
	}
}

// Half of these digits are a card's first ones, and one number in ten has a right check
// digit, so what is not set apart by its form would be refused at once.
func TestI19_NamesThatMachinesMakePass(t *testing.T) {
	t.Parallel()
	const each = 20_000
	for name, random := range map[string]func() string{
		"UUIDs":          uuid.NewString,
		"UUIDs, ordered": func() string { return uuid.Must(uuid.NewV7()).String() },
		"UUIDs, bare":    func() string { return strings.ReplaceAll(uuid.NewString(), "-", "") },
		"hashes":         func() string { return fmt.Sprintf("%016X%016X", rand.Uint64(), rand.Uint64()) },
		"object ids":     func() string { return fmt.Sprintf("%08x%016x", rand.Uint32(), rand.Uint64()) },
		"ULIDs":          func() string { return "01" + randomOf("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24) },
		"tokens": func() string {
			return "pm_1" + randomOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 23)
		},
		"times": func() string { return randomTime().Format(time.RFC3339Nano) },
		"times in digits": func() string {
			return randomTime().Format("20060102150405.000000") + " " + strconv.FormatInt(randomTime().UnixNano(), 10)
		},
		"spans of time": func() string {
			return randomTime().Format("02.01.2006") + "-" + randomTime().Format("02.01.2006 15:04")
		},
		"order numbers": func() string { return fmt.Sprintf("INV-%s-%06d", randomTime().Format("2006-01"), rand.IntN(1e6)) },
		"long invoice ids": func() string {
			return fmt.Sprintf("%s/%04d/%09d", randomTime().Format("2006"), rand.IntN(1e4), rand.IntN(1e9))
		},
		"telephones": func() string {
			return fmt.Sprintf("+90 5%02d %03d %02d %02d", rand.IntN(99), rand.IntN(999), rand.IntN(99), rand.IntN(99))
		},
	} {
		refused := 0
		for range each {
			if HasCardNumber(random()) {
				refused++
			}
		}
		require.Zero(t, refused, "%s of %d", name, each)
	}
}

func randomOf(alphabet string, chars int) string {
	text := make([]byte, chars)
	for i := range text {
		text[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(text)
}

// randomTime lies between 2020 and 2033.
func randomTime() time.Time {
	return time.Unix(1_577_836_800+rand.Int64N(400_000_000), rand.Int64N(1e9)).UTC()
}

func TestI19_FractionsOfNumbersAreNoCards(t *testing.T) {
	t.Parallel()
	require.False(t, isCardInNumber("0.4242424242424242"))
	require.True(t, isCardInNumber("4242424242424242.5"))
	for range 20_000 {
		require.False(t, isCardInNumber(strconv.FormatFloat(rand.Float64(), 'g', -1, 64)))
	}
}

func TestI19_ACardNumberIsRefusedWhereverItStands(t *testing.T) {
	t.Parallel()
	const card = "4242 4242 4242 4242"
	const digits = "4242424242424242"
	for name, c := range map[string]struct {
		change func(*Command)
		field  string
	}{
		"payment method":     {func(c *Command) { c.PaymentMethod = new(card) }, FieldPaymentMethod},
		"customer":           {func(c *Command) { c.Customer = new(card) }, FieldCustomer},
		"payment type":       {func(c *Command) { c.PaymentType = card }, FieldPaymentType},
		"text in metadata":   {func(c *Command) { c.Metadata = []byte(`{"a":{"b":["` + card + `"]}}`) }, FieldMetadata},
		"escaped":            {func(c *Command) { c.Metadata = []byte(`{"a":"\u0034242424242424242"}`) }, FieldMetadata},
		"number in metadata": {func(c *Command) { c.Metadata = []byte(`{"a":` + digits + `}`) }, FieldMetadata},
		"with decimals":      {func(c *Command) { c.Metadata = []byte(`{"a":` + digits + `.00}`) }, FieldMetadata},
		"with an exponent":   {func(c *Command) { c.Metadata = []byte(`{"a":4.242424242424242e15}`) }, FieldMetadata},
		"name in metadata":   {func(c *Command) { c.Metadata = []byte(`{"` + digits + `":true}`) }, FieldMetadata},
	} {
		invalid := must(t, with(c.change)).barred
		require.NotNil(t, invalid, name)
		require.True(t, invalid.CardData, name)
		require.Len(t, invalid.Fields, 1, name)
		require.Equal(t, c.field, invalid.Fields[0].Field, name)
		require.NotContains(t, invalid.Error(), "4242", name)
	}
}

func TestI19_IdentifiersAreLookedAtOnlyForMerchantsWhoWantIt(t *testing.T) {
	t.Parallel()
	const digits = "4242424242424242"
	for field, change := range map[string]func(*Command){
		FieldInvoiceID:         func(c *Command) { c.InvoiceID = digits },
		FieldExternalReference: func(c *Command) { c.ExternalReference = new(digits) },
		FieldIdempotencyKey:    func(c *Command) { c.IdempotencyKey = digits },
	} {
		c := with(change)
		require.Nil(t, must(t, c).barred, field)
		c.ChecksIdentifiers = true
		invalid := must(t, c).barred
		require.NotNil(t, invalid, field)
		require.True(t, invalid.CardData, field)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
}

func TestI19_ACardNumberIsNotCarriedOnAsCorrelation(t *testing.T) {
	t.Parallel()
	request, err := with(func(c *Command) { c.CorrelationID, c.CausationID = "4242424242424242", "4242-4242-4242-4242" }).Validate()
	require.NoError(t, err, "no payment is refused over these")
	require.Empty(t, request.context.CorrelationID)
	require.Empty(t, request.context.CausationID)
}

// FuzzCardNumber puts every number that has a right check digit into texts around it.
func FuzzCardNumber(f *testing.F) {
	f.Add("x: ", "424242424242424", " y")
	f.Add("", "37828224631000", "")
	f.Fuzz(func(t *testing.T, before, body, behind string) {
		_ = HasCardNumber(before + body + behind) // whatever it is, it does not panic
		if strings.Trim(body, "0123456789") != "" || len(body) >= cardDigitsMax {
			return
		}
		for check := range 10 {
			number := fmt.Sprintf("%s%d", body, check)
			if isCardNumber(number) && !HasCardNumber("("+number+")") {
				t.Error(errors.New("a number in brackets was not seen"))
			}
		}
	})
}
