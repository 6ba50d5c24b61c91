package testkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/schema"
)

// DatabaseEnv names the superuser's URL of a server that is there for tests. Its
// passwords of payonce's roles are overwritten.
const DatabaseEnv = "PAYONCE_TEST_DATABASE_URL"

// databaseServer is a server with a migrated template on it.
type databaseServer struct {
	admin    *pgserver.Admin
	template string
}

var testServer = shared(func(ctx context.Context) (*databaseServer, error) {
	admin, err := testAdmin(ctx)
	if err != nil {
		return nil, err
	}
	template, err := prepareTemplate(ctx, admin)
	if err != nil {
		return nil, fmt.Errorf("preparing the template database: %w", err)
	}
	return &databaseServer{admin, template}, nil
})

func testAdmin(ctx context.Context) (*pgserver.Admin, error) {
	if url := os.Getenv(DatabaseEnv); url != "" {
		return pgserver.NewAdmin(ctx, url)
	}
	choice, err := ChosenPostgres()
	if err != nil {
		return nil, err
	}
	if choice == ContainerPostgres {
		return nil, errContainer(PostgresEnv)
	}
	server, err := pgserver.Start(ctx, pgserver.Options{Download: choice == DownloadedPostgres})
	if err != nil {
		return nil, err
	}
	stopAtEnd(server.Stop)
	return server.Admin, nil
}

// prepareTemplate creates and migrates the template unless another test process
// on the same server has done so. Its name holds a hash of all migrations, so that
// processes of different versions do not meet.
func prepareTemplate(ctx context.Context, admin *pgserver.Admin) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", err
	}
	name := "payonce_template_" + hash
	connection, err := pgx.Connect(ctx, admin.URL())
	if err != nil {
		return "", err
	}
	defer connection.Close(ctx)
	// The lock belongs to the session and ends with the connection.
	if _, err := connection.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended('payonce template', 0))"); err != nil {
		return "", err
	}
	var exists bool
	if err := connection.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	return name, buildTemplate(ctx, admin, connection, name)
}

// buildTemplate migrates under another name and renames at the end, so that a
// template which exists is complete.
func buildTemplate(ctx context.Context, admin *pgserver.Admin, connection *pgx.Conn, name string) error {
	unfinished := name + "_unfinished"
	if err := admin.DropDatabase(ctx, unfinished); err != nil {
		return err
	}
	database, err := admin.CreateDatabase(ctx, unfinished)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, database.OwnerURL); err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

// schemaHash names the content of all migrations.
func schemaHash() (string, error) {
	hash := sha256.New()
	for _, files := range []fs.FS{inbox.Migrations, schema.Migrations} {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(files, path)
			fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("hashing the migrations: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}
