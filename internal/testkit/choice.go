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
	// AnyPostgres is the default: the newest one that the machine has; where it has
	// none, one in Docker if runtests starts it, and else the download.
	AnyPostgres Postgres = ""
	// DownloadedPostgres is version pgserver.DownloadedMajor, whatever the machine has.
	DownloadedPostgres Postgres = "download"
	// ContainerPostgres runs in Docker. Only runtests starts it, so that the tests'
	// binaries do not hold Docker's client.
	ContainerPostgres Postgres = "container"
)

// ChosenPostgres returns what PAYONCE_TEST_POSTGRES chooses. A value that it does
// not know is an error: the tests would otherwise run on a server that nobody
// asked for.
func ChosenPostgres() (Postgres, error) {
	switch choice := Postgres(os.Getenv(PostgresEnv)); choice {
	case AnyPostgres, DownloadedPostgres, ContainerPostgres:
		return choice, nil
	default:
		return "", fmt.Errorf("%s is %q: set it to %s or %s, or leave it out", PostgresEnv, choice, DownloadedPostgres, ContainerPostgres)
	}
}

// KafkaEnv chooses the Apache Kafka that is started for tests.
const KafkaEnv = "PAYONCE_TEST_KAFKA"

// Kafka is a kind of Apache Kafka node for tests.
type Kafka string

const (
	// AnyKafka is the default: one on the machine's JVM; where there is none, one in
	// Docker if runtests starts it.
	AnyKafka Kafka = ""
	// ContainerKafka runs in Docker. Only runtests starts it.
	ContainerKafka Kafka = "container"
)

// ChosenKafka returns what PAYONCE_TEST_KAFKA chooses. A value that it does not know
// is an error.
func ChosenKafka() (Kafka, error) {
	switch choice := Kafka(os.Getenv(KafkaEnv)); choice {
	case AnyKafka, ContainerKafka:
		return choice, nil
	default:
		return "", fmt.Errorf("%s is %q: set it to %s, or leave it out", KafkaEnv, choice, ContainerKafka)
	}
}

// errContainer is the answer of a test binary that shall start a container itself.
func errContainer(name string) error {
	return fmt.Errorf("%s chooses a container, which only runtests starts: run make test-containers", name)
}
