package pspsim

import (
	"maps"
	"sort"
	"time"
)

// find returns what a reference holds, as far as it happened before the given
// time; zero means all.
func (b *book) find(reference string, before time.Time) ([]Movement, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settleNow()
	a, ok := b.accounts[reference]
	if !ok {
		return []Movement{}, b.journal.position()
	}
	return a.present(before), b.journal.position()
}

func (a *account) present(before time.Time) []Movement {
	shown := make([]Movement, 0, len(a.movements))
	for _, m := range a.movements {
		if before.IsZero() || m.at.Before(before) {
			shown = append(shown, m.present())
		}
	}
	return shown
}

// since returns at most limit movements from a time on, after the one with the
// given number.
func (b *book) since(from time.Time, after uint64, limit int) ([]Movement, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settleNow()
	first := sort.Search(len(b.all), func(i int) bool { return !b.all[i].at.Before(from) && b.all[i].seq > after })
	shown := make([]Movement, 0, min(limit, len(b.all)-first))
	for _, m := range b.all[first:min(first+limit, len(b.all))] {
		shown = append(shown, m.present())
	}
	return shown, b.journal.position()
}

// oracle tells everything, or all about one reference when only is given.
func (b *book) oracle(only string) Oracle {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settleNow()
	told := Oracle{Totals: maps.Clone(b.totals), References: map[string]Counts{}}
	if only != "" {
		if a, ok := b.accounts[only]; ok {
			told.References[only] = a.counts
		}
		return told
	}
	for reference, a := range b.accounts {
		told.References[reference] = a.counts
	}
	return told
}
