package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/accept"
)

// statement is one statement as it went to the server.
type statement struct {
	sql  string
	args []any
}

// recorder writes down what one connection sends: round trips of one or more
// statements.
type recorder struct{ trips [][]statement }

// TraceQueryStart implements [pgx.QueryTracer].
func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.trips = append(r.trips, []statement{{q.SQL, q.Args}})
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements [pgx.BatchTracer].
func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	var trip []statement
	for _, q := range b.Batch.QueuedQueries {
		trip = append(trip, statement{q.SQL, q.Arguments})
	}
	r.trips = append(r.trips, trip)
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (*recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (*recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// pgbenchScript accepts one payment, writes down every statement of it, and returns
// them as a script that accepts another one each time: what pgbench runs is what
// intake runs, to the letter.
func pgbenchScript(ctx context.Context, c *cell) (string, error) {
	config, err := pgxpool.ParseConfig(c.url.AppURL)
	if err != nil {
		return "", errors.New("the URL of the benchmark's own database cannot be parsed")
	}
	tape := &recorder{}
	config.ConnConfig.Tracer = tape
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return "", fmt.Errorf("opening a pool: %w", err)
	}
	defer pool.Close()
	request, err := newRequest(c.shops[0]) //nolint:contextcheck // it carries no trace
	if err != nil {
		return "", err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := rules.Accept(ctx, tx, []accept.Request{request})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("accepting the payment that is written down: %w", err)
	}
	w := scriptWriter{c: c, ids: map[string]int{}}
	return w.write(ctx, tape.trips)
}

// scriptWriter makes a pgbench script of what was written down.
type scriptWriter struct {
	c   *cell
	ids map[string]int // of the payment: each must be another one next time
}

func (w *scriptWriter) write(ctx context.Context, trips [][]statement) (string, error) {
	var script strings.Builder
	fmt.Fprintf(&script, "\\set i :i + 1\n\\set n :i * 1000 + :client_id\n\\set m random(1, %d)\n", len(w.c.shops))
	for _, trip := range trips {
		if len(trip) > 1 {
			script.WriteString("\\startpipeline\n")
		}
		for _, s := range trip {
			text, err := w.inline(ctx, s)
			if err != nil {
				return "", err
			}
			script.WriteString(text + ";\n")
		}
		if len(trip) > 1 {
			script.WriteString("\\endpipeline\n")
		}
	}
	return script.String(), nil
}

var (
	placeholder = regexp.MustCompile(`\$(\d+)`)
	lineComment = regexp.MustCompile(`--[^\n]*`)
	anyUUID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// inline puts the arguments into the statement's text.
func (w *scriptWriter) inline(ctx context.Context, s statement) (string, error) {
	if len(s.args) == 0 {
		return strings.TrimSuffix(strings.TrimSpace(lineComment.ReplaceAllString(s.sql, "")), ";"), nil
	}
	conn, err := w.c.pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	described, err := conn.Conn().Prepare(ctx, "", s.sql)
	if err != nil {
		return "", fmt.Errorf("asking for a statement's types: %w", err)
	}
	values := make([]string, len(s.args))
	for i, arg := range s.args {
		encoded, err := conn.Conn().TypeMap().Encode(described.ParamOIDs[i], pgtype.TextFormatCode, arg, nil)
		if err != nil {
			return "", fmt.Errorf("rendering an argument: %w", err)
		}
		if values[i] = "NULL"; encoded != nil {
			values[i] = w.literal(string(encoded))
		}
	}
	text := strings.Join(strings.Fields(lineComment.ReplaceAllString(s.sql, "")), " ")
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		n, _ := strconv.Atoi(name[1:]) // digits only
		return values[n-1]
	}), nil
}

// idOfTransaction ends a literal, adds an id in the form of a UUIDv7 that grows with
// the transaction's number, and begins the literal again.
const idOfTransaction = `' || substr(lpad(to_hex(:n::bigint), 12, '0'), 1, 8) || '-' || ` +
	`substr(lpad(to_hex(:n::bigint), 12, '0'), 9) || '-7000-8000-%012x' || E'`

// literal quotes a value. Each id in it becomes an expression over the transaction's
// own number, and the merchant's one of all merchants', by chance.
func (w *scriptWriter) literal(text string) string {
	// pgbench takes a colon for the beginning of a variable, in a literal too.
	quoted := "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", ":", `\x3a`).Replace(text) + "'"
	merchantID := w.c.shops[0].merchant.ID.String()
	varied := anyUUID.ReplaceAllStringFunc(quoted, func(id string) string {
		if id == merchantID {
			return w.anyMerchant()
		}
		if uuid.MustParse(id).Version() != 7 {
			return id
		}
		nth, known := w.ids[id]
		if !known {
			nth = len(w.ids)
			w.ids[id] = nth
		}
		return fmt.Sprintf(idOfTransaction, nth)
	})
	return "(" + varied + ")"
}

// anyMerchant ends a literal, adds a merchant's id, and begins the literal again.
func (w *scriptWriter) anyMerchant() string {
	var ids []string
	for _, s := range w.c.shops {
		ids = append(ids, "'"+s.merchant.ID.String()+"'")
	}
	return "' || (ARRAY[" + strings.Join(ids, ", ") + "])[:m::int] || E'"
}
