// Package schema carries payonce's database schema inside the binaries.
//
//	schema/migrations ──> postgres.Migrate ──> the tables
//
// Migrations only go forward and are never changed once released.
package schema

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the goose migrations, at the root of the file system.
var Migrations fs.FS = mustSub(files, "migrations")

// Roles is the SQL that creates payonce_owner and payonce_app where they are
// missing. It needs a superuser and sets no passwords.
//
//go:embed roles.sql
var Roles string

// mustSub cannot fail for a folder that the compiler has just embedded.
func mustSub(fsys fs.FS, folder string) fs.FS {
	sub, err := fs.Sub(fsys, folder)
	if err != nil {
		panic(err)
	}
	return sub
}
