package testkit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/pgserver"
)

// Test processes that share a server meet in prepareTemplate.
func TestProcessesThatShareAServerShareOneTemplate(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	var processes errgroup.Group
	names := make([]string, 4)
	for i := range names {
		processes.Go(func() error {
			admin, err := pgserver.NewAdmin(t.Context(), server.URL())
			if err != nil {
				return err
			}
			if names[i], err = prepareTemplate(t.Context(), admin); err != nil {
				return err
			}
			_, err = admin.CloneDatabase(t.Context(), names[i], uniqueName())
			return err
		})
	}
	require.NoError(t, processes.Wait())
	for _, name := range names {
		require.Equal(t, names[0], name)
	}
}

func TestATemplateThatWasLeftUnfinishedIsMadeAnew(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	hash, err := schemaHash()
	require.NoError(t, err)
	_, err = server.CreateDatabase(t.Context(), "payonce_template_"+hash+"_unfinished")
	require.NoError(t, err)
	_, err = prepareTemplate(context.Background(), server.Admin)
	require.NoError(t, err)
}
