package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// listed reads a list of payments.
func (d *door) listed(t *testing.T, query url.Values) paymentPage {
	t.Helper()
	a := d.get(t, "/v1/payments?"+query.Encode(), d.key)
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	var page paymentPage
	require.NoError(t, json.Unmarshal(a.body, &page))
	return page
}

func (p paymentPage) invoices() []string {
	names := []string{}
	for _, v := range p.Payments {
		names = append(names, v.InvoiceID)
	}
	return names
}

func TestListing_PagesShowEveryPaymentOnceNewestFirst(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	empty := d.get(t, "/v1/payments", d.key)
	require.JSONEq(t, `{"payments":[],"next":null}`, string(empty.body))
	var want []string
	for i := range 25 {
		invoice := fmt.Sprintf("INV-%02d", i)
		d.post(t, invoice, order(invoice, `"10.00"`))
		want = append(want, invoice)
	}
	slices.Reverse(want)
	_, strangersKey := d.merchant(t)
	require.JSONEq(t, `{"payments":[],"next":null}`, string(d.get(t, "/v1/payments", strangersKey).body))

	first := d.listed(t, nil)
	require.Len(t, first.Payments, limitDefault)
	second := d.listed(t, url.Values{"cursor": {*first.Next}})
	require.Nil(t, second.Next)
	require.Equal(t, want, append(first.invoices(), second.invoices()...))
	require.Equal(t, first.Payments[0], d.get(t, location(first.Payments[0].ID), d.key).view(t))

	// Accepted between two pages, and other lengths of pages.
	d.post(t, "new", order("NEW", `"10.00"`))
	require.Equal(t, second, d.listed(t, url.Values{"cursor": {*first.Next}, "limit": {"5"}}))
	require.Len(t, d.listed(t, url.Values{"limit": {"100"}}).Payments, 26)
}

func TestListing_FiltersNarrowTheList(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	failed := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	settle.Charge(t, d.App, failed, payment.VerdictDeclined)
	d.SetNow(t, time.Hour)
	again := d.post(t, "k-2", order("INV-1", `"10.00"`)).view(t)
	d.SetNow(t, 2*time.Hour)
	referred := strings.TrimSuffix(order("INV-2", `"10.00"`), "}") + `,"externalReference":"PO 1+1"}`
	d.post(t, "k-3", referred)
	middle := again.CreatedAt.Format(time.RFC3339Nano)
	zoned := again.CreatedAt.In(time.FixedZone("", 3*3600)).Format(time.RFC3339Nano)
	for _, c := range []struct {
		query url.Values
		want  []string
	}{
		{url.Values{"invoiceId": {"INV-1"}}, []string{"INV-1", "INV-1"}},
		{url.Values{"invoiceId": {"INV-1"}, "state": {"failed"}}, []string{"INV-1"}},
		{url.Values{"state": {"created"}}, []string{"INV-2", "INV-1"}},
		{url.Values{"state": {"unknown"}}, []string{}},
		{url.Values{"externalReference": {"PO 1+1"}}, []string{"INV-2"}},
		{url.Values{"createdAfter": {middle}}, []string{"INV-2", "INV-1"}},
		{url.Values{"createdBefore": {middle}}, []string{"INV-1"}},
		{url.Values{"createdAfter": {zoned}, "createdBefore": {"9999-12-31T00:00:00Z"}, "state": {"created"}}, []string{"INV-2", "INV-1"}},
		{url.Values{"createdAfter": {"0000-01-01T00:00:00Z"}}, []string{"INV-2", "INV-1", "INV-1"}},
	} {
		require.Equal(t, c.want, d.listed(t, c.query).invoices(), "%s", c.query)
	}
	require.Equal(t, failed.ID, d.listed(t, url.Values{"createdBefore": {middle}}).Payments[0].ID)
}

func TestListing_WhatCannotBeMeantIsRefusedByName(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for i := range 2 {
		d.post(t, fmt.Sprint("k-", i), order(fmt.Sprint("INV-", i), `"10.00"`))
	}
	cursor := *d.listed(t, url.Values{"limit": {"1"}}).Next
	_, strangersKey := d.merchant(t)
	forged, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	forged[len(forged)-1] ^= 1
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "limit=-1": "limit", "limit=1.0": "limit", "limit=": "limit", "limit=1&limit=2": "limit",
		"state=paid": "state", "state=": "state", "State=failed": "State", "invoice=INV-1": "invoice",
		"invoiceId=": "invoiceId", "invoiceId=%00": "invoiceId", "invoiceId=%FF": "invoiceId", "invoiceId=a&invoiceId=a": "invoiceId",
		"invoiceId=" + strings.Repeat("x", 129): "invoiceId", "externalReference=%20a": "externalReference",
		"invoiceId=a&externalReference=b": "externalReference",
		"createdAfter=yesterday":          "createdAfter", "createdBefore=2026-05-04": "createdBefore", "createdBefore=": "createdBefore",
		"cursor=": "cursor", "cursor=x": "cursor", "cursor=" + cursor[1:]: "cursor", "cursor=" + cursor + "&state=failed": "cursor",
		"cursor=" + base64.RawURLEncoding.EncodeToString(forged): "cursor",
		"4242424242424242=1": "a parameter", "%3Cscript%3E=1": "a parameter",
	} {
		a := d.get(t, "/v1/payments?"+query, d.key)
		require.Equal(t, http.StatusBadRequest, a.status, query)
		p := a.problem(t)
		require.Equal(t, "urn:payonce:problem:invalid-request", p.Type)
		require.False(t, p.Retryable)
		require.Equal(t, field, p.Errors[0].Field, query)
		require.NotContains(t, string(a.body), "4242")
	}
	require.Contains(t, d.get(t, "/v1/payments?cursor=x", d.key).problem(t).Detail, "start over")
	require.Equal(t, http.StatusBadRequest, d.get(t, "/v1/payments?cursor="+cursor, strangersKey).status, "another merchant's cursor")
	require.Equal(t, http.StatusBadRequest, d.get(t, "/v1/payments?limit=%zz", d.key).status)
	require.Equal(t, http.StatusUnauthorized, d.get(t, "/v1/payments", "po_nobody").status)
}

func TestListing_HeadAnswersWithoutABody(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	posted := d.post(t, "k-1", order("INV-1", `"10.00"`))
	path := posted.header.Get("Location")
	for _, path := range []string{"/v1/payments", path, path + "/events"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, d.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+d.key)
		a := d.send(t, r)
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
		require.Equal(t, "no-store", a.header.Get("Cache-Control"))
		require.Empty(t, a.body)
	}
}

// history reads a payment's history.
func (d *door) history(t *testing.T, id uuid.UUID, query string) historyPage {
	t.Helper()
	a := d.get(t, location(id)+"/events"+query, d.key)
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.NotContains(t, string(a.body), "k-secret")
	var page historyPage
	require.NoError(t, json.Unmarshal(a.body, &page))
	return page
}

func TestHistory_TellsWhatHappenedOldestFirstAndNamesTheEvents(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	view := d.post(t, "k-secret", order("INV-1", `"10.00"`)).view(t)
	settle.Charge(t, d.App, view, payment.VerdictCaptured)
	whole := d.history(t, view.ID, "")
	require.Nil(t, whole.Next)
	var from, to, told []string
	for _, e := range whole.Events {
		require.Equal(t, payment.KindCharge, e.Kind)
		require.Equal(t, view.OperationID, e.OperationID)
		require.WithinDuration(t, time.Now(), e.At, time.Hour)
		from, to = append(from, given(e.From)), append(to, e.To)
		if e.Event != nil {
			told = append(told, string(e.Event.Type))
		}
	}
	require.Equal(t, []string{"", "processing"}, from)
	require.Equal(t, []string{"created", "captured"}, to, "in the payment's words")
	require.Equal(t, []string{"payonce.PaymentRequested.v1", "payonce.PaymentCaptured.v1"}, told)
	var published int
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT count(*) FROM outbox WHERE event_id IN ($1, $2)",
		whole.Events[0].Event.ID, whole.Events[1].Event.ID).Scan(&published))
	require.Equal(t, 2, published, "the ids are those on the topic")

	var paged []historyEntry
	query := "?limit=1"
	for range whole.Events {
		page := d.history(t, view.ID, query)
		paged = append(paged, page.Events...)
		if page.Next != nil {
			query = "?limit=1&cursor=" + *page.Next
		}
	}
	require.Equal(t, whole.Events, paged)
}

func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func TestHistory_OfAnotherMerchantOrWithAForeignCursorIsRefused(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	view := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	other := d.post(t, "k-2", order("INV-2", `"10.00"`)).view(t)
	settle.Charge(t, d.App, other, payment.VerdictCaptured)
	_, strangersKey := d.merchant(t)
	for _, id := range []string{view.ID.String(), uuid.NewString(), "1"} {
		a := d.get(t, "/v1/payments/"+id+"/events", strangersKey)
		require.Equal(t, http.StatusNotFound, a.status)
		require.Equal(t, "urn:payonce:problem:not-found", a.problem(t).Type)
	}
	cursor := *d.history(t, other.ID, "?limit=1").Next
	for _, query := range []string{"?cursor=" + cursor, "?cursor=x", "?limit=0", "?state=failed"} {
		require.Equal(t, http.StatusBadRequest, d.get(t, location(view.ID)+"/events"+query, d.key).status, query)
	}
}
