package testkit

import (
	"fmt"
	"os"
)

// PostgresEnv chooses the PostgreSQL that is started for tests.
const PostgresEnv = "PAYONCE_TEST_POSTGRES"

// Postgres is a kind of PostgreSQL server for tests.
type Postgres string

const (
	// AnyPostgres, the default, is the newest one that the machine has, and the
	// download where it has none.
	AnyPostgres Postgres = ""
	// DownloadedPostgres is version pgserver.DownloadedMajor, whatever the machine has.
	DownloadedPostgres Postgres = "download"
)

// ChosenPostgres returns what PAYONCE_TEST_POSTGRES chooses. A value that it does
// not know is an error: the tests would otherwise run on a server that nobody
// asked for.
func ChosenPostgres() (Postgres, error) {
	switch choice := Postgres(os.Getenv(PostgresEnv)); choice {
	case AnyPostgres, DownloadedPostgres:
		return choice, nil
	default:
		return "", fmt.Errorf("%s is %q: set it to %s, or leave it out", PostgresEnv, choice, DownloadedPostgres)
	}
}
