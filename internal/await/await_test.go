package await_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/await"
)

// book is what a look reads: the payments that are final.
type book struct {
	mu    sync.Mutex
	final map[uuid.UUID]string
	looks [][]uuid.UUID
	down  bool
}

var errDown = errors.New("the database is down")

func (b *book) look(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = append(b.looks, ids)
	if b.down {
		return nil, errDown
	}
	news := map[uuid.UUID]string{}
	for _, id := range ids {
		if said, final := b.final[id]; final {
			news[id] = said
		}
	}
	return news, nil
}

func (b *book) finish(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.final[id] = id.String()
}

func (b *book) setDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *book) looked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.looks)
}

// answer is what one who waited went away with.
type answer struct {
	said  string
	err   error
	after time.Duration
}

// stage is a room in a bubble of its own time, in which waiting costs nothing.
type stage struct {
	*book
	room    *await.Room[string]
	answers chan answer
	logs    *observer.ObservedLogs
	stop    context.CancelFunc
}

// play runs a story with a room that runs until the story ends.
func play(t *testing.T, story func(*testing.T, *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		b := &book{final: map[uuid.UUID]string{}}
		ctx, stop := context.WithCancel(t.Context())
		s := &stage{
			book: b, room: await.New(b.look, zap.New(core)), answers: make(chan answer, await.WaitersMax), logs: logs, stop: stop,
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.room.Run(ctx)
		}()
		story(t, s)
		stop()
		<-done
		synctest.Wait()
		require.Zero(t, s.room.Waiting())
	})
}

// wait lets somebody wait, who is there when it returns.
func (s *stage) wait(ctx context.Context, id uuid.UUID, patience time.Duration) {
	go func() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		said, err := s.room.Wait(ctx, id)
		s.answers <- answer{said, err, time.Since(began)}
	}()
	synctest.Wait()
}

func TestI3_WhoWaitsIsToldOnceThePaymentIsFinal(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		id, other := uuid.New(), uuid.New()
		for range 3 {
			s.wait(t.Context(), id, 30*time.Second)
		}
		s.wait(t.Context(), other, 30*time.Second)
		<-time.After(3 * time.Second)
		s.finish(id)
		for range 3 {
			a := <-s.answers
			require.NoError(t, a.err)
			require.Equal(t, id.String(), a.said)
			require.LessOrEqual(t, a.after, 3*time.Second+await.LookInterval)
		}
		a := <-s.answers
		require.ErrorIs(t, a.err, context.DeadlineExceeded)
		require.Equal(t, 30*time.Second, a.after)
	})
}

func TestI3_WhatBecameFinalBeforeSomebodyCameInIsSeen(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		id := uuid.New()
		s.finish(id) // after the commit of the accept, before the wait
		s.wait(t.Context(), id, 30*time.Second)
		a := <-s.answers
		require.NoError(t, a.err)
		require.LessOrEqual(t, a.after, await.LookInterval)
	})
}

func TestI3_ThousandsWaitWithOneLookAtATimeAndBoundedQueries(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		const clients, queries = 2500, 3 // 1024 + 1024 + 452
		for range clients {
			s.wait(t.Context(), uuid.New(), 30*time.Second)
		}
		require.Equal(t, clients, s.room.Waiting())
		for range clients {
			require.ErrorIs(t, (<-s.answers).err, context.DeadlineExceeded)
		}
		looks := int(30 * time.Second / await.LookInterval)
		require.InDelta(t, looks*queries, s.looked(), queries)
		asked := map[uuid.UUID]bool{}
		for _, ids := range s.looks[:queries] {
			require.LessOrEqual(t, len(ids), await.IDsMax)
			for _, id := range ids {
				asked[id] = true
			}
		}
		require.Len(t, asked, clients)
	})
}

func TestI3_NobodyWaitsNobodyLooks(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		<-time.After(time.Hour)
		require.Zero(t, s.looked())
		id := uuid.New()
		s.wait(t.Context(), id, time.Second)
		<-s.answers
		before := s.looked()
		<-time.After(time.Hour)
		require.Equal(t, before, s.looked())
	})
}

func TestI3_AClientThatGoesAwayIsNotLookedFor(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		client, goAway := context.WithCancel(t.Context())
		s.wait(client, uuid.New(), 30*time.Second)
		goAway()
		require.ErrorIs(t, (<-s.answers).err, context.Canceled)
		require.Zero(t, s.room.Waiting())
		before := s.looked()
		<-time.After(time.Minute)
		require.Equal(t, before, s.looked())
	})
}

func TestI3_AFullRoomSaysSoAtOnce(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		client, goAway := context.WithCancel(t.Context())
		for range await.WaitersMax {
			go func() {
				_, err := s.room.Wait(client, uuid.New())
				s.answers <- answer{err: err}
			}()
		}
		synctest.Wait()
		require.Equal(t, await.WaitersMax, s.room.Waiting())
		_, err := s.room.Wait(t.Context(), uuid.New())
		require.ErrorIs(t, err, await.ErrFull)
		goAway()
		for range await.WaitersMax {
			require.ErrorIs(t, (<-s.answers).err, context.Canceled)
		}
		s.wait(t.Context(), uuid.New(), time.Second)
		require.ErrorIs(t, (<-s.answers).err, context.DeadlineExceeded, "there is room again")
	})
}

func TestI3_AClosedRoomSendsEveryoneAwayAtOnce(t *testing.T) {
	t.Parallel()
	for name, closing := range map[string]func(*stage){
		"closed": func(s *stage) { s.room.Close() }, "stopped": func(s *stage) { s.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(t *testing.T, s *stage) {
				s.wait(t.Context(), uuid.New(), 30*time.Second)
				closing(s)
				a := <-s.answers
				require.ErrorIs(t, a.err, await.ErrClosed)
				require.Zero(t, a.after)
				_, err := s.room.Wait(t.Context(), uuid.New())
				require.ErrorIs(t, err, await.ErrClosed)
			})
		})
	}
}

func TestI14_WhileTheDatabaseIsDownClientsWaitOnAndOneLineSaysSo(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		id := uuid.New()
		s.setDown(true)
		s.wait(t.Context(), id, 30*time.Second)
		<-time.After(10 * time.Second)
		require.Less(t, s.looked(), 50, "a database that is down is not hammered")
		require.Equal(t, 1, s.logs.Len())
		s.finish(id)
		s.setDown(false)
		a := <-s.answers
		require.NoError(t, a.err)
		require.Less(t, a.after, 11*time.Second)
	})
}
