package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// dockerPatience bounds one command, which starts or stops a container at most.
const dockerPatience = time.Minute

// project is a Docker Compose project that runs. It speaks to Docker through its
// command line, so that the user's own settings hold: DOCKER_HOST, contexts,
// COMPOSE_PROJECT_NAME and what the file takes from the environment.
type project struct{ file string }

func (p project) compose(ctx context.Context, arguments ...string) ([]byte, error) {
	return docker(ctx, append([]string{"compose", "--file", p.file}, arguments...)...)
}

func docker(ctx context.Context, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	command := exec.CommandContext(ctx, "docker", arguments...)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("docker %s: %w: %s", strings.Join(arguments, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.Bytes(), nil
}

// address is where the host reaches a port of a service.
func (p project) address(ctx context.Context, service, port string) (string, error) {
	out, err := p.compose(ctx, "port", service, port)
	if err != nil {
		return "", fmt.Errorf("%w; is the project running? `docker compose up --wait` starts it", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// environment is what the file tells each service, by service and name.
func (p project) environment(ctx context.Context) (map[string]map[string]string, error) {
	out, err := p.compose(ctx, "config", "--format", "json")
	if err != nil {
		return nil, err
	}
	var config struct {
		Services map[string]struct{ Environment map[string]string }
	}
	if err := json.Unmarshal(out, &config); err != nil {
		return nil, fmt.Errorf("reading the configuration of %s: %w", p.file, err)
	}
	told := map[string]map[string]string{}
	for name, service := range config.Services {
		told[name] = service.Environment
	}
	return told, nil
}

// intact returns an error when Docker had to start a container again.
func (p project) intact(ctx context.Context) error {
	ids, err := p.compose(ctx, "ps", "--quiet")
	if err != nil {
		return err
	}
	out, err := docker(ctx, append([]string{"inspect", "--format", "{{.RestartCount}} {{.Name}}"}, strings.Fields(string(ids))...)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if times, name, _ := strings.Cut(strings.TrimSpace(line), " "); times != "0" {
			return fmt.Errorf("the container %s ended by itself; see its logs", name)
		}
	}
	return nil
}
