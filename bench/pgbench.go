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
	"time"

	"github.com/jackc/pgx/v5"
)

// pgbenchClients are tried one after the other; the best of them is the reference.
var pgbenchClients = []int{8, 32, 64}

// pgbench runs what accepting one payment sends, one transaction each.
type pgbench struct {
	cell         *cell
	program      string
	script       string // a file
	clients      int
	runs         int
	transactions int // that must each have left a payment
}

// newPgbench warms pgbench up and finds out how many clients are the fastest.
func newPgbench(ctx context.Context, s *stage) (*pgbench, error) {
	c, err := s.newCell(ctx, "pgbench")
	if err != nil {
		return nil, err
	}
	p := &pgbench{cell: c, clients: pgbenchClients[0]}
	if p.program, err = s.pgbenchProgram(ctx); err != nil {
		return nil, err
	}
	if err := p.write(ctx, s); err != nil {
		return nil, err
	}
	if _, err := p.accept(ctx, warmUp); err != nil {
		return nil, err
	}
	if err := c.analyze(ctx); err != nil {
		return nil, err
	}
	best, fastest := 0, 0.0
	for _, clients := range pgbenchClients {
		p.clients = clients
		perSecond, err := p.accept(ctx, s.options.Reference)
		if err != nil {
			return nil, err
		}
		if perSecond > fastest {
			best, fastest = clients, perSecond
		}
	}
	p.clients = best
	return p, nil
}

// write has one payment accepted, and makes the script of it.
func (p *pgbench) write(ctx context.Context, s *stage) error {
	folder, err := os.MkdirTemp("", "payonce-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for pgbench's script: %w", err)
	}
	s.later(func() { _ = os.RemoveAll(folder) })
	script, err := pgbenchScript(ctx, p.cell)
	if err != nil {
		return err
	}
	p.transactions++
	p.script = filepath.Join(folder, "accept.sql")
	if err := os.WriteFile(p.script, []byte(script), 0o600); err != nil {
		return fmt.Errorf("writing pgbench's script: %w", err)
	}
	return nil
}

//go:embed whole.sql
var wholeSQL string

// holds makes sure that each of pgbench's transactions accepted a whole payment.
func (p *pgbench) holds(ctx context.Context) error {
	var whole int
	if err := p.cell.pool.QueryRow(ctx, wholeSQL).Scan(&whole); err != nil {
		return fmt.Errorf("looking at what pgbench wrote: %w", err)
	}
	if whole != p.transactions {
		return fmt.Errorf("pgbench ran %d transactions and accepted %d payments", p.transactions, whole)
	}
	return nil
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

var (
	ranOutput = regexp.MustCompile(`transactions actually processed: ([0-9]+)`)
	progress  = regexp.MustCompile(`progress: ([0-9.]+) s, ([0-9.]+) tps`)
)

// steady is the mean of what pgbench reports for each second after the warm-up. Before
// that its connections are new: each prepares and plans every statement.
func steady(output []byte) (perSecond float64, err error) {
	sum, seconds := 0.0, 0
	for _, match := range progress.FindAllSubmatch(output, -1) {
		at, _ := strconv.ParseFloat(string(match[1]), 64)        // digits only
		perSecond, _ := strconv.ParseFloat(string(match[2]), 64) // digits only
		if at > warmUp.Seconds()+0.5 {
			sum, seconds = sum+perSecond, seconds+1
		}
	}
	if seconds == 0 {
		return 0, errors.New("pgbench measured nothing")
	}
	return sum / float64(seconds), nil
}

// transactionsPerRun is above what one client does in a run: each run has numbers of
// its own.
const transactionsPerRun = 1_000_000

func (p *pgbench) accept(ctx context.Context, lasting time.Duration) (perSecond float64, err error) {
	database, err := url.Parse(p.cell.url.AppURL)
	if err != nil {
		return 0, errors.New("the URL of the benchmark's own database cannot be parsed")
	}
	password, _ := database.User.Password()
	database.User = url.User(database.User.Username())
	command := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared", "--jobs=2",
		"--client="+strconv.Itoa(p.clients), "--progress=1", "--time="+strconv.Itoa(int((warmUp+lasting).Seconds())),
		"--define=i="+strconv.Itoa(p.runs*transactionsPerRun), "--file="+p.script, database.String())
	p.runs++
	command.Env = append(os.Environ(), "PGPASSWORD="+password) // arguments can be read by anyone
	output, err := command.CombinedOutput()
	match := ranOutput.FindSubmatch(output)
	if err != nil || match == nil {
		return 0, fmt.Errorf("running pgbench: %w\n%s", errors.Join(err, errors.New("it measured nothing")), output[:min(len(output), 2000)])
	}
	transactions, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return 0, fmt.Errorf("reading what pgbench did: %w", err)
	}
	p.transactions += transactions
	return steady(output)
}
