package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// readyPatience bounds a service's start, on a loaded machine too.
	readyPatience = 60 * time.Second
	// probeInterval is between two looks whether a service is ready.
	probeInterval = 20 * time.Millisecond
	// stopGrace is what a service gets to finish the step in hand.
	stopGrace = 20 * time.Second
	// wordsMax, in bytes, is how much a service that failed may be quoted.
	wordsMax = 2 << 10
)

// children are the services, processes of their own.
type children struct {
	program string
	environ []string
	fail    context.CancelCauseFunc

	mu      sync.Mutex
	running []*child
	stopped bool
}

type child struct {
	name      string
	adminAddr string
	process   *leash.Process
	log       *os.File
	expected  atomic.Bool // its end is
}

func (c *children) startAll(ctx context.Context, names ...string) error {
	var started []*child
	for _, name := range names {
		running, err := c.start(name)
		if err != nil {
			return err
		}
		started = append(started, running)
	}
	for _, running := range started {
		if err := running.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts one service; it may not be ready yet.
func (c *children) start(name string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, context.Canceled
	}
	admin, err := freeAddr()
	if err != nil {
		return nil, err
	}
	log, err := namelessFile()
	if err != nil {
		return nil, err
	}
	command := exec.Command(c.program, "service", name)
	command.Env = append(slices.Clip(c.environ), "PAYONCE_ADMIN_ADDR="+admin)
	command.Stdout, command.Stderr = log, log
	process, err := leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: stopGrace})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	started := &child{name: name, adminAddr: admin, process: process, log: log}
	c.running = append(c.running, started)
	go c.watch(started)
	return started, nil
}

// watch ends the demo when a service ends by itself.
func (c *children) watch(running *child) {
	<-running.process.Ended()
	if !running.expected.Load() {
		c.fail(fmt.Errorf("a %s ended by itself; its last words:\n%s", running.name, running.lastWords()))
	}
	_ = running.log.Close() // nobody will read it
}

// killOne ends the first service of the name as a power cut would.
func (c *children) killOne(name string) error {
	victim := c.take(name)
	if victim == nil {
		return fmt.Errorf("no %s is running", name)
	}
	if err := victim.process.Signal(os.Kill); err != nil {
		return fmt.Errorf("killing a %s: %w", name, err)
	}
	<-victim.process.Ended()
	return nil
}

func (c *children) take(name string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.running, func(running *child) bool { return running.name == name })
	if at < 0 {
		return nil
	}
	victim := c.running[at]
	victim.expected.Store(true)
	c.running = slices.Delete(c.running, at, at+1)
	return victim
}

// stopAll asks every service to end and waits until they have. None starts after it.
func (c *children) stopAll() {
	c.mu.Lock()
	running := c.running
	c.running, c.stopped = nil, true
	c.mu.Unlock()
	var stopping sync.WaitGroup
	for _, r := range running {
		r.expected.Store(true)
		stopping.Go(r.process.Stop)
	}
	stopping.Wait()
}

func (c *child) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		missing := c.askReady(ctx, client)
		if missing == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("a %s is not ready: %w", c.name, missing)
		}
	}
}

func (c *child) askReady(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.adminAddr+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, wordsMax))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	return err
}

func (c *child) lastWords() string {
	info, err := c.log.Stat()
	if err != nil {
		return err.Error()
	}
	words := make([]byte, min(info.Size(), wordsMax))
	n, _ := c.log.ReadAt(words, info.Size()-int64(len(words)))
	return string(words[:n])
}

// namelessFile is a file that nobody has to remove. A service may not write to a
// pipe of ours: see leash.Start.
func namelessFile() (*os.File, error) {
	file, err := os.CreateTemp("", "payonce-demo-*.log")
	if err != nil {
		return nil, fmt.Errorf("creating a log: %w", err)
	}
	return file, os.Remove(file.Name())
}

// freeAddr is a loopback address that nobody listens on now.
func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// cleanEnviron drops what the caller has set for payonce's own processes.
func cleanEnviron(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool { return strings.HasPrefix(variable, "PAYONCE_") })
}
