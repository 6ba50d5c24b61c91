package containers

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// engine reports whether there is one to test on. `make test-containers` makes sure
// that there is.
func engine(t *testing.T) bool {
	t.Helper()
	err := Check(t.Context())
	if err != nil {
		require.ErrorIs(t, err, ErrNoEngine)
		t.Logf("NO DOCKER: %v", err)
	}
	return err == nil
}

func TestAPostgreSQLHasItsSettingsAndIsGoneAfterStop(t *testing.T) {
	t.Parallel()
	if !engine(t) {
		return
	}
	server, err := StartPostgres(t.Context(), map[string]string{"max_connections": "77"})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop(t.Context()), "a second time") }()
	connection, err := pgx.Connect(t.Context(), server.Addr)
	require.NoError(t, err)
	for setting, want := range map[string]string{"max_connections": "77", "fsync": "on", "lc_collate": "C"} {
		var got string
		require.NoError(t, connection.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	require.NoError(t, connection.Close(t.Context()))

	require.NoError(t, server.Stop(t.Context()))
	_, err = pgx.Connect(t.Context(), server.Addr)
	require.Error(t, err)
}

func TestAKafkaNodeTakesTransactionsAndIsGoneAfterStop(t *testing.T) {
	t.Parallel()
	if !engine(t) {
		return
	}
	server, err := StartKafka(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop(t.Context()), "a second time") }()
	client, err := kgo.NewClient(kgo.SeedBrokers(server.Addr), kgo.TransactionalID("test"), kgo.DefaultProduceTopic("test"))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "test")
	require.NoError(t, err)
	require.NoError(t, client.BeginTransaction())
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr())
	require.NoError(t, client.EndTransaction(t.Context(), kgo.TryCommit))

	require.NoError(t, server.Stop(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, client.Ping(ctx))
}

func TestAServerThatDoesNotStartSaysWhyAndIsRemoved(t *testing.T) {
	t.Parallel()
	if !engine(t) {
		return
	}
	_, err := StartPostgres(t.Context(), map[string]string{"no_such_setting": "1"})
	require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
}
