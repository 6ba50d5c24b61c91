package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// readyPatience bounds a service's start.
	readyPatience = 30 * time.Second
	// stopGrace is what a service gets to finish the step in hand.
	stopGrace = 10 * time.Second
)

// children are the services, processes of their own.
type children struct {
	program string
	environ []string
	log     *zap.Logger

	mu      sync.Mutex
	running []*child
}

type child struct {
	name      string
	adminAddr string
	process   *leash.Process
}

func (c *children) startAll(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := c.start(ctx, name); err != nil {
			return err
		}
	}
	for _, running := range c.all() {
		if err := running.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts one service; it may not be ready yet.
func (c *children) start(ctx context.Context, name string) error {
	admin, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	command := exec.Command(c.program, "service", name)
	command.Env = append(append([]string{}, c.environ...), "PAYONCE_ADMIN_ADDR="+admin)
	process, err := leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: stopGrace})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, &child{name: name, adminAddr: admin, process: process})
	return nil
}

func (c *children) all() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*child{}, c.running...)
}

// killOne ends the first service of the name as a power cut would, and starts
// another one in its place.
func (c *children) killOne(ctx context.Context, name string) error {
	for _, running := range c.all() {
		if running.name != name {
			continue
		}
		if err := syscall.Kill(running.process.PID(), syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing %s: %w", name, err)
		}
		<-running.process.Ended()
		c.forget(running)
		return c.start(ctx, name)
	}
	return fmt.Errorf("no %s is running", name)
}

func (c *children) forget(gone *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, running := range c.running {
		if running == gone {
			c.running = append(c.running[:i], c.running[i+1:]...)
			return
		}
	}
}

// stopAll asks every service to end and waits until they have.
func (c *children) stopAll() {
	var stopping sync.WaitGroup
	for _, running := range c.all() {
		stopping.Go(running.process.Stop)
	}
	stopping.Wait()
}

func (c *child) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if c.ready(ctx) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-c.process.Ended():
			return fmt.Errorf("%s ended while it started", c.name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w", c.name, readyPatience, ctx.Err())
		}
	}
}

// readiness asks services whether they are ready.
var readiness = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (c *child) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.adminAddr+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := readiness.Do(request)
	if err != nil {
		return false
	}
	_, copied := io.Copy(io.Discard, response.Body)
	return errors.Join(copied, response.Body.Close()) == nil && response.StatusCode < 300
}

// freeAddr is a loopback address that nobody listens on now.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// cleanEnviron drops what the caller has set for payonce's own processes.
func cleanEnviron(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "PAYONCE_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
