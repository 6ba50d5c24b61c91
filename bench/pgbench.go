package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// reference is the best that pgbench reached.
type reference struct {
	clients   int
	perSecond float64
}

// measurePgbench runs what accepting one payment sends, one transaction each.
func measurePgbench(ctx context.Context, s *stage) (best reference, err error) {
	c, err := s.newCell(ctx, "pgbench")
	if err != nil {
		return best, err
	}
	program, err := s.pgbenchProgram(ctx)
	if err != nil {
		return best, err
	}
	script, err := pgbenchScript(ctx, c)
	if err != nil {
		return best, err
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("payonce-bench-%d.sql", os.Getpid()))
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return best, fmt.Errorf("writing pgbench's script: %w", err)
	}
	defer func() { _ = os.Remove(file) }()
	transactions := 1 // the one that was written down
	for run, clients := range pgbenchClients {
		ran, err := s.runPgbench(ctx, c, pgbench{program, file, run, clients})
		if err != nil {
			return best, err
		}
		transactions += ran.transactions
		if ran.perSecond > best.perSecond {
			best = reference{clients, ran.perSecond}
		}
	}
	return best, c.holds(ctx, transactions)
}

//go:embed whole.sql
var wholeSQL string

// holds makes sure that each of pgbench's transactions accepted a whole payment.
func (c *cell) holds(ctx context.Context, transactions int) error {
	var whole int
	if err := c.pool.QueryRow(ctx, wholeSQL).Scan(&whole); err != nil {
		return fmt.Errorf("looking at what pgbench wrote: %w", err)
	}
	if whole != transactions {
		return fmt.Errorf("pgbench ran %d transactions and accepted %d payments", transactions, whole)
	}
	return nil
}

// pgbench is one run of it.
type pgbench struct {
	program, script string
	run, clients    int
}

// ran is what a run of pgbench did.
type ran struct {
	transactions int
	perSecond    float64
}

// pgbenchProgram is the one that came with the server.
func (s *stage) pgbenchProgram(ctx context.Context) (string, error) {
	superuser, err := pgx.Connect(ctx, s.server.URL())
	if err != nil {
		return "", fmt.Errorf("looking for pgbench: %w", err)
	}
	defer superuser.Close(context.WithoutCancel(ctx))
	var folder string
	if err := superuser.QueryRow(ctx, "SELECT setting FROM pg_config WHERE name = 'BINDIR'").Scan(&folder); err != nil {
		return "", fmt.Errorf("looking for pgbench: %w", err)
	}
	program := filepath.Join(folder, "pgbench")
	if _, err := os.Stat(program); err != nil {
		return "", errors.New("the PostgreSQL that runs brought no pgbench, which is the reference: install the server's package")
	}
	return program, nil
}

var ranOutput = regexp.MustCompile(`(?s)transactions actually processed: ([0-9]+).*tps = ([0-9.]+)`)

func (s *stage) runPgbench(ctx context.Context, c *cell, p pgbench) (ran, error) {
	database, err := url.Parse(c.url.AppURL)
	if err != nil {
		return ran{}, errors.New("the URL of the benchmark's own database cannot be parsed")
	}
	password, _ := database.User.Password()
	database.User = url.User(database.User.Username())
	command := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared",
		"--client="+strconv.Itoa(p.clients), "--jobs=2", "--time="+strconv.Itoa(max(1, int(s.options.Reference.Seconds()))),
		// Each run has numbers of its own.
		"--define=i="+strconv.Itoa(p.run*1_000_000), "--file="+p.script, database.String())
	command.Env = append(os.Environ(), "PGPASSWORD="+password) // arguments can be read by anyone
	output, err := command.CombinedOutput()
	match := ranOutput.FindSubmatch(output)
	if err != nil || match == nil {
		return ran{}, fmt.Errorf("running pgbench: %w\n%s", errors.Join(err, errors.New("it measured nothing")), output[:min(len(output), 2000)])
	}
	transactions, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return ran{}, fmt.Errorf("reading what pgbench did: %w", err)
	}
	perSecond, err := strconv.ParseFloat(string(match[2]), 64)
	return ran{transactions, perSecond}, err
}
