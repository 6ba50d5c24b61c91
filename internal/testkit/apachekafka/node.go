package apachekafka

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/leash"
)

// jvm bounds the node's memory. The serial collector starts fastest and suits two
// cores.
var jvm = []string{"-Xms256m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"}

//go:embed server.properties
var propertiesTemplate string

// node is a data folder and what is needed to run a node on it.
type node struct {
	jars   string
	folder string
	leash  *leash.Leash // holds the folder
	addr   string
}

func (n node) setUp(ctx context.Context) (*Server, error) {
	ports, err := freePorts()
	if err != nil {
		return nil, err
	}
	n.addr = "127.0.0.1:" + ports[0]
	properties := strings.NewReplacer("{data}", filepath.Join(n.folder, "data"), "{port}", ports[0], "{controller}", ports[1]).
		Replace(propertiesTemplate)
	if err := os.WriteFile(n.properties(), []byte(properties), 0o600); err != nil {
		return nil, fmt.Errorf("writing the node's properties: %w", err)
	}
	if err := n.format(ctx); err != nil {
		return nil, err
	}
	return n.start(ctx)
}

func (n node) properties() string { return filepath.Join(n.folder, "server.properties") }

func (n node) java(class string, arguments ...string) []string {
	return slices.Concat(jvm, []string{"-cp", filepath.Join(n.jars, "*"), class}, arguments)
}

// format writes the cluster's id into the empty data folder, without which the
// node refuses to start.
func (n node) format(ctx context.Context) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making a cluster id: %w", err)
	}
	// The tool takes an id that begins with a minus for an option. A UUIDv7
	// begins with the high bits of the time, which is an A in base64.
	command := exec.Command("java", n.java("kafka.tools.StorageTool", "format", "--standalone",
		"--cluster-id", base64.RawURLEncoding.EncodeToString(id[:]), "--config", n.properties())...)
	log, err := n.logOf(command, "format.log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if err := n.leash.Run(ctx, command); err != nil {
		return withLastWords(fmt.Errorf("formatting the node's storage: %w", err), log)
	}
	return nil
}

func (n node) start(ctx context.Context) (*Server, error) {
	command := exec.Command("java", n.java("kafka.Kafka", n.properties())...)
	command.Dir = n.folder
	log, err := n.logOf(command, "kafka.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	process, err := n.leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: stopGrace})
	if err != nil {
		return nil, err
	}
	if err := n.awaitAnswer(ctx, process); err != nil {
		process.Stop()
		return nil, withLastWords(err, log)
	}
	return &Server{process: process, addr: n.addr}, nil
}

// logOf makes a file of the command's output.
func (n node) logOf(command *exec.Cmd, name string) (*os.File, error) {
	log, err := os.Create(filepath.Join(n.folder, name))
	if err != nil {
		return nil, fmt.Errorf("creating a log: %w", err)
	}
	command.Stdout, command.Stderr = log, log
	return log, nil
}

// awaitAnswer returns once the node lists itself as a broker.
func (n node) awaitAnswer(ctx context.Context, process *leash.Process) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(n.addr))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	defer client.Close()
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		select {
		case <-process.Ended():
			return struct{}{}, backoff.Permanent(errEnded)
		default:
		}
		brokers, err := kadm.NewClient(client).ListBrokers(ctx)
		if err == nil && len(brokers) == 0 {
			err = errors.New("the node is not registered yet")
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(answerInterval)), backoff.WithMaxElapsedTime(startWait))
	return err
}

// withLastWords adds what the node itself said. The folder is gone by now, but
// the open log can still be read.
func withLastWords(err error, log *os.File) error {
	words := make([]byte, lastWordsMax)
	n, _ := log.ReadAt(words, 0)
	return fmt.Errorf("%w; its log begins:\n%s", err, words[:n])
}

// freePorts returns two ports that were free a moment ago.
func freePorts() ([2]string, error) {
	var ports [2]string
	for i := range ports {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return ports, fmt.Errorf("looking for a free port: %w", err)
		}
		// Held until both are known, so that they differ.
		defer listener.Close() //nolint:gocritic // the end of the function is meant, and there are two
		ports[i] = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
