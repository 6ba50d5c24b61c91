package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// act posts to a payment's path. An empty body is none.
func (d *door) act(t *testing.T, path, key, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+d.key)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return d.send(t, request)
}

func (a answer) refund(t *testing.T) payment.RefundView {
	t.Helper()
	var v payment.RefundView
	require.NoError(t, json.Unmarshal(a.body, &v), "%s", a.body)
	return v
}

// captured is a payment over 10.00 that was captured.
func (d *door) captured(t *testing.T, invoice string) string {
	t.Helper()
	posted := d.post(t, "pay-"+invoice, order(invoice, `"10.00"`))
	settle.Capture(t, d.App, posted.view(t))
	return posted.header.Get("Location")
}

func TestI15_APaymentIsCanceledOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	first := d.post(t, "k-1", order("INV-1", `"10.00"`))
	path := first.header.Get("Location")
	canceled := d.act(t, path+"/cancel", "c-1", "")
	require.Equal(t, http.StatusOK, canceled.status, "%s", canceled.body)
	require.Equal(t, payment.StateCanceled, canceled.view(t).State)
	again := d.act(t, path+"/cancel", "c-1", "{}")
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, string(canceled.body), string(again.body))
	require.Equal(t, string(canceled.body), string(d.get(t, path, d.key).body))
	replayed := d.post(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusCreated, replayed.status)
	require.Equal(t, string(canceled.body), string(replayed.body))

	late := d.act(t, d.captured(t, "INV-2")+"/cancel", "c-2", "")
	problem := late.problem(t)
	require.Equal(t, http.StatusConflict, late.status)
	require.Equal(t, "urn:payonce:problem:payment-not-cancelable", problem.Type)
	require.Equal(t, payment.StateCaptured, problem.Payment.State)
	require.Equal(t, http.StatusBadRequest, d.act(t, path+"/cancel", "", "").status, "a key is needed")
	require.Equal(t, http.StatusBadRequest, d.act(t, path+"/cancel", "c-3", `{"why":"x"}`).status)
	require.Equal(t, http.StatusNotFound, d.act(t, location(uuid.New())+"/cancel", "c-3", "").status)
	require.Equal(t, http.StatusMethodNotAllowed, d.get(t, path+"/cancel", d.key).status)
}

func TestI15_APaymentIsRefundedOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	path := d.captured(t, "INV-1")
	first := d.act(t, path+"/refunds", "r-1", `{"refundReference":"R-1","amount":4,"currency":"TRY","metadata":{"why":"damaged"}}`)
	require.Equal(t, http.StatusAccepted, first.status, "%s", first.body)
	require.Equal(t, "/v1/refunds/"+first.refund(t).ID.String(), first.header.Get("Location"))
	require.Equal(t, string(first.body), string(d.get(t, first.header.Get("Location"), d.key).body))
	open := d.act(t, path+"/refunds", "r-1", `{"amount":"4.00","refundReference":"R-1","currency":"TRY","metadata":{"why":"damaged"}}`)
	require.Equal(t, http.StatusAccepted, open.status)
	require.Equal(t, "true", open.header.Get("Idempotent-Replayed"))

	settle.Refund(t, d.App, first.refund(t), payment.VerdictCaptured)
	for range 3 {
		final := d.act(t, path+"/refunds", "r-1", `{"refundReference":"R-1","amount":4.0,"currency":"TRY","metadata":{"why":"damaged"}}`)
		require.Equal(t, http.StatusCreated, final.status)
		require.Equal(t, payment.OperationSucceeded, final.refund(t).State)
		require.Equal(t, string(d.get(t, first.header.Get("Location"), d.key).body), string(final.body))
	}
	require.Equal(t, "4.00", d.get(t, path, d.key).view(t).Refunded)
	_, other := d.merchant(t)
	require.Equal(t, http.StatusNotFound, d.get(t, first.header.Get("Location"), other).status, "another merchant's refund does not exist")
	require.Equal(t, http.StatusNotFound, d.get(t, path+"/refunds", other).status)
}

func TestI15_WhatStandsInTheWayOfARefundIsSaid(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	path := d.captured(t, "INV-1")
	open := d.post(t, "k-2", order("INV-2", `"10.00"`)).header.Get("Location")
	require.Equal(t, http.StatusAccepted, d.act(t, path+"/refunds", "r-1", `{"refundReference":"R-1","amount":"4.00"}`).status)
	for name, c := range map[string]struct {
		path, key, body string
		status          int
		problem         string
	}{
		"not captured":       {open, "r-2", `{"refundReference":"R-1"}`, http.StatusConflict, "payment-not-refundable"},
		"reference":          {path, "r-2", `{"refundReference":"R-1","amount":"1.00"}`, http.StatusConflict, "refund-reference-taken"},
		"limit":              {path, "r-2", `{"refundReference":"R-2","amount":"6.01"}`, http.StatusUnprocessableEntity, "refund-exceeds-captured"},
		"key":                {path, "r-1", `{"refundReference":"R-1"}`, http.StatusUnprocessableEntity, "idempotency-key-reused"},
		"key of another":     {open, "r-1", `{"refundReference":"R-1","amount":"4.00"}`, http.StatusUnprocessableEntity, "idempotency-key-reused"},
		"currency":           {path, "r-2", `{"refundReference":"R-2","currency":"USD"}`, http.StatusBadRequest, "invalid-request"},
		"nothing":            {path, "r-2", `{"refundReference":"R-2","amount":0}`, http.StatusBadRequest, "invalid-request"},
		"no reference":       {path, "r-2", `{}`, http.StatusBadRequest, "invalid-request"},
		"an empty amount":    {path, "r-2", `{"refundReference":"R-2","amount":""}`, http.StatusBadRequest, "invalid-request"},
		"an unknown member":  {path, "r-2", `{"refundReference":"R-2","amont":"1.00"}`, http.StatusBadRequest, "invalid-request"},
		"a repeated member":  {path, "r-2", `{"refundReference":"R-2","refundReference":"R-3"}`, http.StatusBadRequest, "malformed-body"},
		"no key":             {path, "", `{"refundReference":"R-2"}`, http.StatusBadRequest, "idempotency-key-missing"},
		"no body":            {path, "r-2", ``, http.StatusUnsupportedMediaType, "unsupported-media-type"},
		"no payment":         {location(uuid.New()), "r-2", `{"refundReference":"R-2"}`, http.StatusNotFound, "not-found"},
		"no id of a payment": {"/v1/payments/PO-1", "r-2", `{"refundReference":"R-2"}`, http.StatusNotFound, "not-found"},
	} {
		got := d.act(t, c.path+"/refunds", c.key, c.body)
		require.Equal(t, c.status, got.status, "%s: %s", name, got.body)
		require.Equal(t, "urn:payonce:problem:"+c.problem, got.problem(t).Type, name)
	}
	limit := d.act(t, path+"/refunds", "r-2", `{"refundReference":"R-2","amount":"6.01"}`).problem(t)
	require.Contains(t, limit.Detail, "6.00 TRY")
	taken := d.act(t, path+"/refunds", "r-2", `{"refundReference":"R-1"}`).problem(t)
	require.Equal(t, "R-1", taken.Refund.RefundReference)
}

func TestI15_RefundsOfAPaymentComeInPages(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	path := d.captured(t, "INV-1")
	for i := range 5 {
		posted := d.act(t, path+"/refunds", fmt.Sprint("r-", i), fmt.Sprintf(`{"refundReference":"R-%d","amount":"0.01"}`, i))
		require.Equal(t, http.StatusAccepted, posted.status)
	}
	var references []string
	for query := "?limit=2"; ; {
		var page refundPage
		require.NoError(t, json.Unmarshal(d.get(t, path+"/refunds"+query, d.key).body, &page))
		for _, r := range page.Refunds {
			references = append(references, r.RefundReference)
		}
		if page.Next == nil {
			break
		}
		query = "?limit=2&cursor=" + *page.Next
	}
	require.Equal(t, []string{"R-0", "R-1", "R-2", "R-3", "R-4"}, references)
	require.Equal(t, http.StatusBadRequest, d.get(t, path+"/refunds?cursor=x", d.key).status)
	require.JSONEq(t, `{"refunds":[],"next":null}`, string(d.get(t, d.captured(t, "INV-2")+"/refunds", d.key).body))
}
