package pgserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/schema"
)

const (
	ownerRole = "payonce_owner"
	appRole   = "payonce_app"
)

// Database is one database, as its owner and as the application see it.
type Database struct {
	Name     string
	OwnerURL string // payonce_owner, which migrates
	AppURL   string // payonce_app, which owns nothing
}

// Admin creates and drops databases on a server that runs.
type Admin struct {
	url *url.URL
	// secret is what the roles' passwords are derived from, so that several
	// processes that share a server agree on them without talking.
	secret string
	major  int
}

// NewAdmin takes a superuser's URL, creates payonce's roles where they are missing
// and sets their passwords. Give it a server that is there for tests or a demo:
// on any other the services would lose their passwords.
func NewAdmin(ctx context.Context, superuserURL string) (*Admin, error) {
	parsed, err := url.Parse(superuserURL)
	if err != nil || parsed.User == nil {
		return nil, errors.New("the superuser's URL must have the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	password, _ := parsed.User.Password()
	a := &Admin{url: parsed, secret: password}
	if err := a.do(ctx, a.setUp); err != nil {
		return nil, err
	}
	return a, nil
}

// MajorVersion is the server's, such as 15.
func (a *Admin) MajorVersion() int { return a.major }

// URL is the superuser's URL, for the database that the superuser starts in.
func (a *Admin) URL() string { return a.url.String() }

// CreateDatabase creates an empty database that payonce_owner owns.
func (a *Admin) CreateDatabase(ctx context.Context, name string) (Database, error) {
	d, err := a.create(ctx, name, "TEMPLATE template0")
	if err != nil {
		return Database{}, err
	}
	inside := *a
	inside.url = withPath(a.url, name)
	return d, inside.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
		// payonce_app may look names up in the schema; nobody else may do
		// anything in it. Tables are granted one by one by the migrations.
		_, err := c.Exec(ctx, "REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO "+appRole)
		return err
	})
}

// CloneDatabase creates a database as a copy of the template, to which nobody may
// be connected meanwhile.
func (a *Admin) CloneDatabase(ctx context.Context, template, name string) (Database, error) {
	// FILE_COPY needs two checkpoints, for which callers side by side wait: with
	// four of them a clone took 0.77 s on PostgreSQL 15, with WAL_LOG 0.29 s.
	return a.create(ctx, name, "STRATEGY wal_log TEMPLATE "+pgx.Identifier{template}.Sanitize())
}

// DropDatabase drops the database if it exists, with the sessions in it.
func (a *Admin) DropDatabase(ctx context.Context, name string) error {
	return a.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
		return err
	})
}

func (a *Admin) create(ctx context.Context, name, how string) (Database, error) {
	err := a.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
		quoted := pgx.Identifier{name}.Sanitize()
		if _, err := c.Exec(ctx, "CREATE DATABASE "+quoted+" OWNER "+ownerRole+" "+how); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "REVOKE ALL ON DATABASE "+quoted+" FROM PUBLIC; GRANT CONNECT ON DATABASE "+quoted+" TO "+appRole)
		return err
	})
	if err != nil {
		return Database{}, fmt.Errorf("creating database %s: %w", name, err)
	}
	return a.Database(name), nil
}

// Database returns the URLs of a database without looking whether it exists.
func (a *Admin) Database(name string) Database {
	as := func(role string) string {
		u := withPath(a.url, name)
		u.User = url.UserPassword(role, a.rolePassword(role))
		return u.String()
	}
	return Database{Name: name, OwnerURL: as(ownerRole), AppURL: as(appRole)}
}

func (a *Admin) setUp(ctx context.Context, c *pgx.Conn) error {
	if err := c.QueryRow(ctx, "SELECT current_setting('server_version_num')::int / 10000").Scan(&a.major); err != nil {
		return fmt.Errorf("asking for the server's version: %w", err)
	}
	return a.createRoles(ctx, c)
}

func (a *Admin) createRoles(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, schema.Roles); err != nil {
		return fmt.Errorf("creating the roles: %w", err)
	}
	// Two processes that alter one role at once: "tuple concurrently updated".
	var sql strings.Builder
	sql.WriteString("SELECT pg_advisory_xact_lock(hashtextextended('payonce roles', 0));")
	for _, role := range []string{ownerRole, appRole} {
		fmt.Fprintf(&sql, "ALTER ROLE %s PASSWORD '%s';", role, a.rolePassword(role))
	}
	if _, err := c.Exec(ctx, sql.String()); err != nil {
		return fmt.Errorf("setting the roles' passwords: %w", err)
	}
	return nil
}

// rolePassword is hexadecimal and so needs no quoting.
func (a *Admin) rolePassword(role string) string {
	mac := hmac.New(sha256.New, []byte(a.secret))
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// do runs f on a connection of the superuser.
func (a *Admin) do(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	connection, err := pgx.Connect(ctx, a.url.String())
	if err != nil {
		return fmt.Errorf("connecting as superuser: %w", err)
	}
	defer connection.Close(context.WithoutCancel(ctx))
	return f(ctx, connection)
}

func withPath(u *url.URL, database string) *url.URL {
	changed := *u
	changed.Path = "/" + database
	return &changed
}
