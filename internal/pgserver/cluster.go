package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/cenkalti/backoff/v5"

	"github.com/payonce/payonce/internal/leash"
)

// cluster is a data folder and what is needed to run a server on it.
type cluster struct {
	bin      string
	folder   string
	leash    *leash.Leash // holds the folder
	account  account
	password string
	settings map[string]string
	keep     bool // the folder, when the server ends
	port     uint32
}

func (c cluster) dataFolder() string { return filepath.Join(c.folder, "data") }

// setUp finds the binaries, initialises the folder and starts the server.
func (c cluster) setUp(ctx context.Context, o Options) (*Server, error) {
	if !o.Download {
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
	s, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	if major := s.MajorVersion(); o.Download && major != DownloadedMajor {
		s.Stop()
		return nil, fmt.Errorf("the downloaded PostgreSQL says that it is version %d, not %d", major, DownloadedMajor)
	}
	return s, nil
}

// init runs initdb. The C locale and UTF8 make text compare by bytes, the same
// on every machine.
func (c cluster) init(ctx context.Context) error {
	passwordFile := filepath.Join(c.folder, "password")
	if err := c.account.writeFile(passwordFile, c.password); err != nil {
		return err
	}
	defer func() { _ = os.Remove(passwordFile) }()
	// The folder is temporary, so initdb need not sync it; the server syncs
	// everything that is committed later.
	command := exec.Command(filepath.Join(c.bin, "initdb"),
		"--pgdata="+c.dataFolder(), "--username="+superuser, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--locale=C", "--encoding=UTF8", "--no-sync")
	c.account.apply(command, c.folder)
	log, err := c.logOf(command, "initdb.log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if err := c.leash.Run(ctx, command); err != nil {
		return withLastWords(fmt.Errorf("running %s: %w", command.Path, err), log)
	}
	return nil
}

// start runs the server, on a free port unless it has one, and waits until it can be
// used.
func (c cluster) start(ctx context.Context) (*Server, error) {
	if c.port == 0 {
		var err error
		if c.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	command := exec.Command(filepath.Join(c.bin, "postgres"), c.arguments()...)
	c.account.apply(command, c.folder)
	log, err := c.logOf(command, "server.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	// SIGQUIT is PostgreSQL's immediate shutdown. A fast one would first write
	// a checkpoint, which takes seconds, into a folder that is then removed.
	process, err := c.leash.Start(command, leash.Options{Signal: syscall.SIGQUIT, Grace: stopGrace, Keep: c.keep})
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, c.password, c.port)
	admin, err := awaitAdmin(ctx, process, url)
	if err != nil {
		process.Stop()
		return nil, withLastWords(err, log)
	}
	return &Server{Admin: admin, cluster: c, process: process}, nil
}

// logOf makes a file of the command's output.
func (c cluster) logOf(command *exec.Cmd, name string) (*os.File, error) {
	log, err := os.Create(filepath.Join(c.folder, name))
	if err != nil {
		return nil, fmt.Errorf("creating a log: %w", err)
	}
	command.Stdout, command.Stderr = log, log
	return log, nil
}

func (c cluster) arguments() []string {
	settings := map[string]string{
		"port":                    strconv.FormatUint(uint64(c.port), 10),
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
	maps.Copy(settings, c.settings)
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

// withLastWords adds what the program itself said. The folder is gone by now, but
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
func freePort() (uint32, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	return uint32(listener.Addr().(*net.TCPAddr).AddrPort().Port()), nil
}
