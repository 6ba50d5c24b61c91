package provider

import "time"

// The bounds of the time between two looks at an unknown operation.
const (
	// CheckIntervalMin is short, because most unknowns are an answer that was cut
	// and a charge that the provider can already tell about.
	CheckIntervalMin = time.Second
	// CheckIntervalMax is an hour: an operation that has been unknown for days
	// still gets its answer within an hour of the provider's return.
	CheckIntervalMax = time.Hour
)

// checkJitter is the share of an interval that chance decides, so that the
// unknowns of one outage do not ask in step for ever.
const checkJitter = 0.5

// NextCheck returns how long to wait before the next look at an operation that
// has been unknown for age. Intervals are as long as the age, so that they double
// (1 s, 2 s, 4 s …), from CheckIntervalMin up to CheckIntervalMax, less up to half
// by chance. They never end: nothing gives up. rnd is from [0, 1).
func NextCheck(age time.Duration, rnd float64) time.Duration {
	interval := min(max(age, CheckIntervalMin), CheckIntervalMax)
	wait := time.Duration(float64(interval) * (1 - checkJitter*rnd))
	return max(wait, CheckIntervalMin)
}

// Backoff returns how long to wait after so many tries: by chance, from half of an
// interval to the whole of it. The interval is twice the least wait after the first
// try, doubles with each further one, and is never above most. rnd is from [0, 1).
func Backoff(least, most time.Duration, tries int, rnd float64) time.Duration {
	delay := 2 * least // half of it is the least
	for i := 1; i < tries && delay < most; i++ {
		delay *= 2
	}
	delay = min(delay, most)
	return delay/2 + time.Duration(float64(delay/2)*rnd)
}
