package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
)

// bucketsMax bounds the memory, at about 200 bytes a bucket. The bucket of a merchant
// that is pushed out is full again: that takes ten thousand merchants who ask
// meanwhile, and gives this one a burst more.
const bucketsMax = 2 * merchant.CachedKeysMax

// limits holds how fast each merchant's requests come, at this process. What reads has
// a bucket of its own, as large: who asks for states too often can still pay.
type limits struct {
	fallback merchant.Limit // of merchants without their own; zero is none
	now      func() time.Time

	mu      sync.Mutex
	buckets *lru.Cache[bucketName, *bucket]
}

type bucketName struct {
	merchant uuid.UUID
	reads    bool
}

// bucket is a limiter, and what it was made for.
type bucket struct {
	*rate.Limiter
	limit merchant.Limit
}

func newLimits(fallback merchant.Limit) *limits {
	buckets, err := lru.New[bucketName, *bucket](bucketsMax)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &limits{fallback: fallback, now: time.Now, buckets: buckets}
}

// admit takes one from the merchant's bucket, or says when there will be one.
func (l *limits) admit(m merchant.Merchant, reads bool) (wait time.Duration) {
	limit := m.Limit
	if limit.IsZero() {
		limit = l.fallback
	}
	if limit.IsZero() {
		return 0
	}
	now := l.now()
	taken := l.bucket(bucketName{m.ID, reads}, limit, now).ReserveN(now, 1)
	wait = taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now) // nobody waits here, so nothing is taken from who comes then
	}
	return wait
}

// bucket returns a merchant's bucket. One whose limit was changed keeps what is in it.
func (l *limits) bucket(name bucketName, limit merchant.Limit, now time.Time) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, found := l.buckets.Get(name)
	if !found {
		b = &bucket{rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst), limit}
		l.buckets.Add(name, b)
	}
	if b.limit != limit {
		b.SetLimitAt(now, rate.Limit(limit.PerSecond))
		b.SetBurstAt(now, limit.Burst)
		b.limit = limit
	}
	return b
}

// admit refuses a merchant that is too fast, before anything is read, looked up or
// stored. A repeat of an accepted request is refused too: 429 says nothing about the
// payment, only that it was not looked at.
func (a *api) admit(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	wait := a.limits.admit(m, r.Method == http.MethodGet || r.Method == http.MethodHead)
	if wait == 0 {
		return nil
	}
	return tooFast(w, wait, "Requests come faster than this merchant's limit.")
}

// tooFast says how long to wait, in whole seconds.
func tooFast(w http.ResponseWriter, wait time.Duration, why string) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return problem.RateLimited.Failure(fmt.Sprintf(
		"%s This request was not looked at. That says nothing about an earlier one with the same key. Send it again in %d s.", why, seconds))
}
