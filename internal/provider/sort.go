package provider

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/payonce/payonce/pkg/payment"
)

// RetryAfterMax bounds a provider's hint: a payment that waits longer than an
// hour because of one header line is more likely a mistake than a wish.
const RetryAfterMax = time.Hour

// Reply is a complete HTTP answer, read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Post sends a money-moving request under a permit of its own and reads the
// answer to its end. When there is no complete answer, the Answer says whether
// the request was sent, and ok is false.
func Post(client *http.Client, req *http.Request, stop StopDeadline) (reply Reply, answer Answer, ok bool) {
	ctx, permit := WithPermit(req.Context(), stop)
	reply, err := exchange(client, req.WithContext(ctx))
	if err != nil {
		return Reply{}, Unanswered(permit.NotSent(), err), false
	}
	return reply, Answer{}, true
}

// Get makes a request that moves nothing. Without a complete answer ok is false
// and the Answer is unclear: a question that was not asked proves nothing either.
func Get(client *http.Client, req *http.Request) (reply Reply, answer Answer, ok bool) {
	reply, err := exchange(client, req)
	if err != nil {
		return Reply{}, Unanswered(false, err), false
	}
	return reply, Answer{}, true
}

// exchange reads the whole body: a rest would keep the connection from being
// used again, and a cut body is no answer.
func exchange(client *http.Client, req *http.Request) (Reply, error) {
	resp, err := client.Do(req) //nolint:bodyclose // ReadReply closes it
	if err != nil {
		return Reply{}, err
	}
	return ReadReply(resp)
}

// ReadReply reads an answer to its end and closes its body. An answer without its
// end is an error and no reply.
func ReadReply(resp *http.Response) (Reply, error) {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("reading the answer (status %d): %w", resp.StatusCode, err)
	}
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// Unanswered sorts a request without a complete answer. Only notSent, which comes
// from the permit, decides; the error is for logs.
func Unanswered(notSent bool, err error) Answer {
	if notSent {
		return Answer{NotSent: true, Reason: ReasonNotSent, Err: err}
	}
	return Answer{Reason: ReasonNoAnswer, Err: err}
}

// Refused is the answer for an operation that a connector does not put on the
// wire at all.
func Refused(reason string, err error) Answer {
	return Answer{NotSent: true, Reason: reason, Err: err}
}

// Answer starts an answer from a complete reply: unclear, with the status, the
// hash and the given reason. The connector sets the verdict where the provider's
// own words give one.
func (r Reply) Answer(reason string) Answer {
	hash := sha256.Sum256(r.Body)
	return Answer{Status: r.Status, Reason: reason, Hash: hash[:]}
}

// TryLater sorts a refusal for now, such as 429. It is "not taken" only where the
// provider declares it for this status, and only when the connector has parsed
// the body in the provider's own format: a proxy's 429 or 503 page says nothing
// about what the provider did behind it.
func (r Reply) TryLater(c Capabilities, ownFormat bool) Answer {
	if !ownFormat {
		return r.Answer(ReasonForeignAnswer)
	}
	answer := r.Answer(ReasonTryLater)
	if !c.declaresNotTaken(r.Status) {
		return answer
	}
	answer.Verdict = payment.VerdictNotTaken
	answer.RetryAfter = r.retryAfter(time.Now())
	return answer
}

// retryAfter reads the header's two forms, seconds and a date (RFC 9110, 10.2.3).
func (r Reply) retryAfter(now time.Time) time.Duration {
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, RetryAfterMax)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), RetryAfterMax)
	}
	return 0
}

// CheckEcho compares what the provider says it did with what we asked for. A
// capture of another amount or currency stays a capture, of what Amount says:
// money moved, and whoever applies it must see that it is not the money that was
// asked for. Every other mismatch is unclear, and an answer that does not name an
// amount proves no capture.
func CheckEcho(op Operation, a Answer) Answer {
	if a.Verdict != payment.VerdictCaptured && a.Verdict != payment.VerdictPending {
		return a
	}
	if a.Amount == op.Amount {
		return a
	}
	a.Err = fmt.Errorf("asked for %s, the provider says %s", op.Amount, a.Amount)
	a.Reason = ReasonEchoMismatch
	if a.Verdict == payment.VerdictPending || a.Amount.IsZero() {
		a.Verdict = payment.VerdictUnclear
	}
	return a
}
