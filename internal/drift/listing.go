package drift

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/provider"
)

//go:embed see.sql
var seeSQL string

// textBytesMax bounds what is kept of a provider's texts.
const textBytesMax = 255

// list reads one page. What it names and the cursor of the next page commit together:
// a scanner that dies in between reads the page again, and no page is left out.
func (w *work) list(ctx context.Context) error {
	page, err := w.lister.List(ctx, provider.ListQuery{
		From: w.scan.From.Add(-ClockMargin), To: w.scan.To.Add(ClockMargin), Cursor: w.scan.Cursor,
	})
	if err != nil {
		return fmt.Errorf("reading the list of %s: %w", w.scan.ProviderAccount, err)
	}
	if page.Next != "" && page.Next == w.scan.Cursor {
		return fmt.Errorf("the list of %s does not go on after %q", w.scan.ProviderAccount, page.Next)
	}
	named, err := distinct(page.Movements)
	if err != nil {
		return fmt.Errorf("reading the list of %s: %w", w.scan.ProviderAccount, err)
	}
	next := w.scan
	next.Cursor, next.Pages, next.Listed = page.Next, next.Pages+1, next.Listed+int64(len(named))
	if page.Next == "" {
		next.Phase = Recalling
	}
	return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, _ *Scan) error { return see(ctx, tx, w.scan, named) })
}

// distinct are a page's movements, each once. The later entry of two about one is the
// newer. A movement without a name cannot be told from the next one, so its page is
// none: whoever wrote the connector has to look.
func distinct(page []provider.Movement) ([]provider.Movement, error) {
	at := map[string]int{}
	var named []provider.Movement
	for _, m := range page {
		if m.ObjectID == "" || m.ObjectID != plainText(m.ObjectID) {
			return nil, errors.New("a movement has no name that can be kept")
		}
		m.Reference = plainText(m.Reference)
		if i, twice := at[m.ObjectID]; twice {
			named[i] = m
			continue
		}
		at[m.ObjectID] = len(named)
		named = append(named, m)
	}
	return named, nil
}

func see(ctx context.Context, tx pgx.Tx, s Scan, named []provider.Movement) error {
	_, err := tx.Exec(ctx, seeSQL, s.ID, s.now,
		postgres.Column(named, func(m provider.Movement) string { return m.ObjectID }),
		postgres.Column(named, func(m provider.Movement) string { return m.Reference }),
		postgres.Column(named, func(m provider.Movement) *uuid.UUID { return postgres.Given(operationOf(m.Reference)) }),
		postgres.Column(named, func(m provider.Movement) string { return string(m.Kind) }),
		postgres.Column(named, func(m provider.Movement) string { return m.Verdict.String() }),
		postgres.Column(named, func(m provider.Movement) *int64 { return postgres.Minor(m.Amount) }),
		postgres.Column(named, func(m provider.Movement) *string { return postgres.Given(string(m.Amount.Currency())) }),
		postgres.Column(named, func(m provider.Movement) time.Time { return m.CreatedAt }))
	if err != nil {
		return fmt.Errorf("keeping what a list names: %w", err)
	}
	return nil
}

// operationOf reads a reference in the one form in which we write it. Others write
// ids, too, and a parser that takes their forms would take theirs for ours.
func operationOf(reference string) uuid.UUID {
	id, err := uuid.Parse(reference)
	if err != nil || id.String() != reference {
		return uuid.Nil
	}
	return id
}

// plainText keeps what PostgreSQL can hold as text and a terminal can show.
func plainText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
	if len(text) > textBytesMax {
		text = strings.ToValidUTF8(text[:textBytesMax], "")
	}
	return text
}
