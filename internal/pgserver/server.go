// Package pgserver runs a real PostgreSQL server of our own for the demo, the
// tests and the benchmarks.
//
//	the machine's binaries, else a download ──> initdb ──> server on 127.0.0.1
//
// The server is private (a random password, a free loopback port, no unix
// socket), durable like a real one (fsync on), and temporary: it ends with its
// parent, however that ends, and its data goes with it. Nothing that must be
// kept belongs into it.
package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// startWait bounds the time from starting the server to its first answer.
	// It is one second on an idle machine; a loaded one may need many.
	startWait = 60 * time.Second
	// stopGrace is how long an immediate shutdown may take. The server itself
	// kills what is left of its sessions after five seconds.
	stopGrace = 10 * time.Second
	// startTries: a port that was free may be taken before the server binds it.
	startTries = 3
	// answerInterval is between two looks whether the server answers yet.
	answerInterval = 20 * time.Millisecond
	// lastWordsMax, in bytes, is how much of its log a failed server may quote.
	lastWordsMax = 4 << 10
	// superuser is the name initdb gives to the first role.
	superuser = "postgres"
)

// downloadEnv, set to "download", forces the download from outside.
const downloadEnv = "PAYONCE_DEMO_POSTGRES"

// Options change what Start does. The zero value suits demo and tests.
type Options struct {
	// Download takes the downloaded build even where the machine has its own
	// binaries. PAYONCE_DEMO_POSTGRES=download says the same from outside.
	Download bool
	// Settings are server settings by name, which win over the defaults.
	Settings map[string]string
}

// Server is a running server.
type Server struct {
	*Admin
	process *leash.Process
}

// errPortTaken means that somebody bound the port between our look and our use.
var errPortTaken = errors.New("the port was taken meanwhile")

// Start initialises and starts a server and returns once it answers and the two
// roles of payonce exist. It takes one to two seconds, a first download more.
// The server stops with Stop, when ctx is done, or when this process ends.
// As root, server and initdb run as the user nobody, because PostgreSQL refuses
// to run as root.
func Start(ctx context.Context, o Options) (*Server, error) {
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := startOnce(ctx, account, o)
		if err == nil {
			context.AfterFunc(ctx, s.Stop)
			return s, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return nil, fmt.Errorf("starting PostgreSQL: %w", err)
		}
	}
}

func startOnce(ctx context.Context, account account, o Options) (*Server, error) {
	folder, err := account.makeFolder()
	if err != nil {
		return nil, err
	}
	c := cluster{folder: folder, account: account, password: rand.Text(), settings: o.Settings}
	s, err := c.setUp(ctx, o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

// PID is the process id of the server.
func (s *Server) PID() int { return s.process.PID() }

// Ended is closed when the server has ended and its data is gone.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// Stop ends all sessions, stops the server and removes its data. It returns when
// that is done, and may be called more than once.
func (s *Server) Stop() { s.process.Stop() }

// setUp finds the binaries, initialises the folder and starts the server.
func (c cluster) setUp(ctx context.Context, o Options) (*Server, error) {
	if !o.Download && os.Getenv(downloadEnv) != "download" {
		c.bin = localBinaries()
	}
	if c.bin == "" {
		if err := c.fetch(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.init(ctx); err != nil {
		return nil, err
	}
	return c.start(ctx)
}

// cluster is a data folder and what is needed to run a server on it.
type cluster struct {
	bin      string
	folder   string
	account  account
	password string
	settings map[string]string
}

func (c cluster) dataFolder() string { return filepath.Join(c.folder, "data") }

// init runs initdb. The C locale and UTF8 make text compare by bytes, the same
// on every machine.
func (c cluster) init(ctx context.Context) error {
	passwordFile := filepath.Join(c.folder, "password")
	if err := c.account.writeFile(passwordFile, c.password); err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	// The folder is temporary, so initdb need not sync it; the server syncs
	// everything that is committed later.
	command := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"),
		"--pgdata="+c.dataFolder(), "--username="+superuser, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--locale=C", "--encoding=UTF8", "--no-sync")
	c.account.apply(command, c.folder)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w\n%s", command.Path, err, output)
	}
	return nil
}

// start runs the server on a free port and waits until it can be used.
func (c cluster) start(ctx context.Context) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.folder, "server.log"))
	if err != nil {
		return nil, fmt.Errorf("creating the server's log: %w", err)
	}
	defer log.Close()
	command := exec.Command(filepath.Join(c.bin, "postgres"), c.arguments(port)...)
	c.account.apply(command, c.folder)
	command.Stdout, command.Stderr = log, log
	// SIGQUIT is PostgreSQL's immediate shutdown. A fast one would first write
	// a checkpoint, which takes seconds, into a folder that is then removed.
	process, err := leash.Start(command, leash.Options{Signal: syscall.SIGQUIT, Grace: stopGrace, Folder: c.folder})
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, c.password, port)
	admin, err := awaitAdmin(ctx, process, url)
	if err != nil {
		process.Stop()
		return nil, withLastWords(err, log)
	}
	return &Server{Admin: admin, process: process}, nil
}

func (c cluster) arguments(port int) []string {
	settings := map[string]string{
		"port":                    strconv.Itoa(port),
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"max_connections":         "200",
		"shared_buffers":          "256MB",
		// Commits survive a crash of the machine, as everything here relies on.
		"fsync":              "on",
		"synchronous_commit": "on",
		// Few checkpoints: they would be noise in a run of minutes.
		"max_wal_size":       "4GB",
		"checkpoint_timeout": "30min",
	}
	for name, value := range c.settings {
		settings[name] = value
	}
	arguments := []string{"-D", c.dataFolder()}
	for name, value := range settings {
		arguments = append(arguments, "-c", name+"="+value)
	}
	return arguments
}

// awaitAdmin returns once the server let the superuser in.
func awaitAdmin(ctx context.Context, process *leash.Process, url string) (*Admin, error) {
	return backoff.Retry(ctx, func() (*Admin, error) {
		select {
		case <-process.Ended():
			return nil, backoff.Permanent(errors.New("the server ended"))
		default:
			return NewAdmin(ctx, url)
		}
	}, backoff.WithBackOff(backoff.NewConstantBackOff(answerInterval)), backoff.WithMaxElapsedTime(startWait))
}

// withLastWords adds what the server itself said. The folder is gone by now, but
// the open log can still be read.
func withLastWords(err error, log *os.File) error {
	words := make([]byte, lastWordsMax)
	n, _ := log.ReadAt(words, 0)
	if bytes.Contains(words[:n], []byte("could not bind")) {
		err = errors.Join(err, errPortTaken)
	}
	return fmt.Errorf("%w; its log begins:\n%s", err, words[:n])
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
