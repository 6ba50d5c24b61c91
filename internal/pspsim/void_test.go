package pspsim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

func (b *bundle) refund(id, reference string, minor int) reply {
	b.t.Helper()
	return b.do(http.MethodPost, "/v1/charges/"+id+"/refunds", reference, fields{"reference": reference, "amountMinor": minor, "currency": "TRY"})
}

func TestRefundsAddUpToTheChargeAndNoFurther(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	id := decode[pspsim.Movement](t, b.charge("R1", "k1")).ID
	require.Equal(t, http.StatusCreated, b.refund(id, "F1", 400).status)
	require.Equal(t, http.StatusUnprocessableEntity, b.refund(id, "F2", 601).status)
	require.Equal(t, http.StatusCreated, b.refund(id, "F3", 600).status)
	require.Equal(t, http.StatusCreated, b.refund(id, "F3", 600).status, "its key repeats the answer")
	require.Equal(t, http.StatusUnprocessableEntity, b.refund(id, "F4", 1).status)
	require.Equal(t, pspsim.Total{Charged: 1000, Refunded: 1000}, b.server.Oracle().Totals["TRY"])
	require.Equal(t, pspsim.Counts{Refunded: 1, Sends: 2}, b.counts("F3"))
	require.Equal(t, "refund", b.find("F1")[0].Kind)
	require.Equal(t, http.StatusUnprocessableEntity, b.refund("ch_000000000099", "F5", 1).status)
}

func TestAVoidTakesACapturedChargeBack(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	id := decode[pspsim.Movement](t, b.charge("R1", "k1")).ID
	r := b.do(http.MethodPost, "/v1/charges/"+id+"/void", "V1", fields{"reference": "V1"})
	require.Equal(t, http.StatusCreated, r.status)
	void := decode[pspsim.Movement](t, r)
	require.Equal(t, "void", void.Kind)
	require.Equal(t, int64(1000), void.AmountMinor, "it says what it took back")
	require.Equal(t, pspsim.Counts{Charged: 1, Voided: 1, Sends: 1}, b.counts("R1"))
	require.Zero(t, b.server.Oracle().Totals["TRY"].Charged)
	require.Equal(t, http.StatusUnprocessableEntity, b.do(http.MethodPost, "/v1/charges/"+id+"/void", "V2", fields{"reference": "V2"}).status)
}

func TestU4_AVoidOfAnUnseenReferenceClosesTheDoor(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	require.Empty(t, b.closeDoor("R1"))
	late := decode[pspsim.Movement](t, b.charge("R1", "k1"))
	require.Equal(t, pspsim.StatusDeclined, late.Status)
	require.Equal(t, "voided", late.Reason)
	require.Equal(t, pspsim.Counts{Sends: 1}, b.counts("R1"))
}

func TestU4_AClosedDoorAlsoStopsAChargeThatIsAlreadyInside(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.script("delay_before:3s")
	late := make(chan reply, 1)
	go func() { late <- b.charge("R1", "k1") }()
	b.eventually(func() bool { return b.counts("R1").Open == 1 })
	b.closeDoor("R1")
	require.Equal(t, pspsim.StatusDeclined, decode[pspsim.Movement](t, <-late).Status)
	require.Equal(t, pspsim.Counts{Sends: 1}, b.counts("R1"))
}

func TestAVoidByReferenceTakesBackWhatIsThere(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.charge("R1", "k1")
	for range 2 { // it can be asked again
		held := b.closeDoor("R1")
		require.Len(t, held, 1)
		require.Equal(t, pspsim.StatusVoided, held[0].Status)
	}
	require.Equal(t, pspsim.Counts{Charged: 1, Voided: 1, Sends: 1}, b.counts("R1"))

	id := decode[pspsim.Movement](t, b.charge("R2", "k2")).ID
	b.refund(id, "F1", 1)
	require.Equal(t, pspsim.StatusCaptured, b.closeDoor("R2")[0].Status, "too late: part of it was refunded")
}

func TestAVoidedPendingChargeNeverCaptures(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.faults(pspsim.Faults{Rates: pspsim.Rates{Pending: 1, PendingMS: 2000}})
	b.charge("R1", "k1")
	require.Equal(t, pspsim.StatusVoided, b.closeDoor("R1")[0].Status)
	b.charge("R2", "k2")
	b.eventually(func() bool { return b.counts("R2").Charged == 1 }) // R1's time has passed too
	require.Equal(t, pspsim.Counts{Sends: 1}, b.counts("R1"))
}

func TestTheInquiryCanBeOffOrLag(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.charge("R1", "k1")
	b.faults(pspsim.Faults{Inquiry: pspsim.InquiryOff})
	require.Equal(t, http.StatusNotFound, b.do(http.MethodGet, "/v1/charges?reference=R1", "", nil).status)

	b.faults(pspsim.Faults{Inquiry: pspsim.InquiryLagging, InquiryLag: pspsim.Duration(2 * time.Second)})
	b.charge("R2", "k2")
	require.Empty(t, b.find("R2"), "charged, and not shown yet")
	b.eventually(func() bool { return len(b.find("R2")) == 1 })
}

func TestU10_TheListByTimeIsWholeAndPaged(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	from := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	for _, reference := range []string{"A", "B", "C", "D", "E"} {
		b.charge(reference, reference)
	}
	var seen, after string
	for {
		page := decode[pspsim.Charges](t, b.do(http.MethodGet, "/v1/charges?limit=2&since="+from+"&after="+after, "", nil))
		for _, m := range page.Charges {
			seen += m.Reference
		}
		if after = page.Next; after == "" {
			break
		}
	}
	require.Equal(t, "ABCDE", seen)
	for _, bad := range []string{"", "?since=yesterday", "?since=" + from + "&limit=0", "?since=" + from + "&after=x"} {
		require.Equal(t, http.StatusBadRequest, b.do(http.MethodGet, "/v1/charges"+bad, "", nil).status, bad)
	}
}
