// Package postgres opens payonce's database and keeps its schema.
//
//	URL ──checks──> pool        schema/migrations ──lock──> tables
//
// A pool that Open returned belongs to a role that owns nothing, on a server and
// a schema that are new enough, and its commits are durable. What the services
// rely on is therefore checked once, before the first payment, and refused with a
// message that says what to do.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

const (
	ownerRole = "payonce_owner"
	appRole   = "payonce_app"

	// versionMin is the oldest PostgreSQL that payonce supports and is tested on.
	versionMin = 15
	// checkWait bounds the start checks, so that a host that swallows packets
	// is an error at start instead of a hang.
	checkWait = 30 * time.Second
)

// errURL stands for every URL that cannot be parsed. It quotes nothing, because
// in a malformed URL the password can be anywhere.
var errURL = errors.New("the database URL cannot be parsed: it must have the form " +
	"postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password percent-encoded")

// PoolOptions are what a process chooses about its pool.
type PoolOptions struct {
	// ConnsMax bounds the open connections. 0 leaves pgx's default, which is the
	// larger of 4 and the number of processors.
	ConnsMax int32
	// ApplicationName is how pg_stat_activity shows the process.
	ApplicationName string
	// Log hears of set-ups that run but weaken a promise. nil: nobody hears.
	Log *zap.Logger
}

// Open connects as the application's role and checks what the services rely on.
// It returns an error when the server is older than version 15, when
// synchronous_commit is off, when the role could get around the database's guards
// (superuser, owner of tables, member of payonce_owner), or when the schema is
// older than this program; a newer schema is accepted, so that old and new
// versions of a service run side by side.
//
// It works through a transaction-pooling pgbouncer when the URL says
// default_query_exec_mode=exec. The checks are made once: a setting that is
// changed later is not noticed.
func Open(ctx context.Context, url string, o PoolOptions) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	if o.ConnsMax > 0 {
		config.MaxConns = o.ConnsMax
	}
	if o.ApplicationName != "" {
		config.ConnConfig.RuntimeParams["application_name"] = o.ApplicationName
	}
	config.AfterConnect = registerTypes
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the database pool: %w", err)
	}
	if err := check(ctx, pool, o.Log); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

//go:embed open_check.sql
var openCheckSQL string

// facts are what the start checks judge, in the order of open_check.sql.
type facts struct {
	Version           int
	SynchronousCommit string
	Standbys          bool
	Fsync             bool
	Role              string
	Superuser         bool
	Owner             bool
	Isolation         string
}

func check(ctx context.Context, pool *pgxpool.Pool, log *zap.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	rows, err := pool.Query(ctx, openCheckSQL)
	if err != nil {
		return fmt.Errorf("looking at the database at start: %w", err)
	}
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[facts])
	if err != nil {
		return fmt.Errorf("looking at the database at start: %w", err)
	}
	if err := f.refuse(); err != nil {
		return err
	}
	if err := checkSchema(ctx, pool); err != nil {
		return err
	}
	if log != nil {
		f.warn(log)
	}
	return nil
}

// refuse returns the first fact under which no promise would hold.
func (f facts) refuse() error {
	switch {
	case f.Version < versionMin:
		return versionError(f.Version)
	case f.SynchronousCommit == "off":
		return errors.New("synchronous_commit is off in this session: a crash would lose acknowledged payments; " +
			"set it to on for the server, the database, the role and in the URL")
	case f.Isolation != "read committed":
		return fmt.Errorf("default_transaction_isolation is %s in this session: what is read under a lock would be older than the lock; "+
			"set it to read committed", f.Isolation)
	case f.Superuser:
		return fmt.Errorf("the role %s is a superuser, for whom the database's guards do not hold: connect as %s", f.Role, appRole)
	case f.Owner:
		return fmt.Errorf("the role %s owns tables or is a member of %s and could get around the database's guards: connect as %s",
			f.Role, ownerRole, appRole)
	}
	return nil
}

// warn names the facts under which the promises depend on luck.
func (f facts) warn(log *zap.Logger) {
	if !f.Fsync {
		log.Warn("fsync is off: a crash of the machine may lose acknowledged payments; use this for tests only")
	}
	switch {
	case !f.Standbys:
		log.Warn("no synchronous replica: losing this server may lose acknowledged payments; " +
			"set synchronous_standby_names, or run `payctl epoch bump` after a failover or a restore")
	case f.SynchronousCommit == "local":
		log.Warn("synchronous_commit is local: commits do not wait for the synchronous replica; set it to on")
	}
}

func versionError(version int) error {
	return fmt.Errorf("PostgreSQL %d is too old: payonce needs %d or newer", version, versionMin)
}
