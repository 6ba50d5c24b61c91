package containers

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
	"github.com/testcontainers/testcontainers-go/wait"
)

// PostgresImage is the oldest PostgreSQL that payonce supports.
const PostgresImage = "postgres:15"

// PostgresImageEnv names another image, of the same conventions.
const PostgresImageEnv = "PAYONCE_TEST_POSTGRES_IMAGE"

// StartPostgres starts a PostgreSQL with the given server settings and returns once
// it answers, or ErrNoEngine. The caller stops it, also when ctx is done.
func StartPostgres(ctx context.Context, settings map[string]string) (*Server, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	image := imageOr(PostgresImageEnv, PostgresImage)
	container, err := postgres.Run(ctx, image,
		postgres.WithPassword(rand.Text()),
		// Text compares by bytes, as on the servers that tests start without Docker.
		testcontainers.WithEnv(map[string]string{"POSTGRES_INITDB_ARGS": "--locale=C --encoding=UTF8"}),
		testcontainers.WithCmd(postgresCommand(settings)...),
		testcontainers.WithWaitStrategyAndDeadline(startWait,
			// The first time, the server only answers its own init scripts.
			wait.ForLog("database system is ready to accept connections").WithOccurrence(2).WithPollInterval(pollInterval),
			wait.ForListeningPort("5432/tcp").WithPollInterval(pollInterval)))
	if container == nil {
		return nil, failed(ctx, image, nil, err)
	}
	if err != nil {
		return nil, failed(ctx, image, container, err)
	}
	url, err := container.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return nil, failed(ctx, image, container, err)
	}
	return &Server{Image: image, Addr: url, container: container}, nil
}

// pollInterval is between two looks whether a server is ready.
const pollInterval = 100 * time.Millisecond

// postgresCommand replaces the module's command, which switches fsync off: commits
// that are lost in a crash are not what payonce is tested on.
func postgresCommand(settings map[string]string) []string {
	command := []string{"postgres"}
	for name, value := range settings {
		command = append(command, "-c", name+"="+value)
	}
	return command
}
