package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of PostgreSQL's Appendix A that callers branch on.
const (
	codeLockNotAvailable = "55P03"
	codeDeadlock         = "40P01"
	codeUndefinedTable   = "42P01"
)

// codesUnavailable say that the server, not the statement, is the trouble.
var codesUnavailable = []string{
	"57P01", // admin_shutdown
	"57P02", // crash_shutdown
	"57P03", // cannot_connect_now: starting up or recovering
	"53300", // too_many_connections
	"25006", // read_only_sql_transaction: a failover left us on a replica
}

// IsLockConflict reports whether a lock was not to be had within lock_timeout or
// the server broke a deadlock. The transaction is rolled back and nothing of it
// happened; a smaller group may succeed at once.
func IsLockConflict(err error) bool {
	code := sqlState(err)
	return code == codeLockNotAvailable || code == codeDeadlock
}

// IsUnavailable reports whether PostgreSQL could not be reached, went away or
// takes no sessions. It does not say whether a commit that was under way
// happened: look before you repeat it. A cancellation of the caller's own is not
// unavailability; a deadline is, if it passed while connecting.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	// Asked first: a server that refuses a session does so with a code of its
	// own, such as 55000 from a database that allows no connections.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if code := sqlState(err); code != "" {
		// Class 08 is connection_exception; pgbouncer reports its own trouble in it.
		return strings.HasPrefix(code, "08") || slices.Contains(codesUnavailable, code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || isBroken(err)
}

// IsUnanswered reports whether nobody knows what became of what was asked: PostgreSQL is
// unavailable, or the time for it, or whoever asked, was gone before the answer came.
func IsUnanswered(err error) bool {
	return IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// IsRolledBack reports whether the error of a COMMIT is PostgreSQL's own word that there was
// none. A server that ends a session may have committed before, and says FATAL.
func IsRolledBack(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, pgx.ErrTxCommitRollback) || (ok && refused.SeverityUnlocalized == "ERROR")
}

// classesOfRequest are the classes of errors that a request's own values can cause:
// cardinality, data, integrity constraints, views' checks, limits, PL/pgSQL's own.
var classesOfRequest = []string{"21", "22", "23", "44", "54", "P0"}

// IsOfServer reports whether PostgreSQL refused for a reason that other requests would
// meet, too: a disk that is full, a grant or a table that is missing, a statement that
// was canceled. It passes when somebody has mended it. Errors that are not PostgreSQL's
// are not judged here: see IsUnavailable.
func IsOfServer(err error) bool {
	code := sqlState(err)
	return len(code) >= 2 && !slices.Contains(classesOfRequest, code[:2])
}

// isBroken reports whether the connection broke under a statement.
func isBroken(err error) bool {
	for _, broken := range []error{pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

func sqlState(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}
