package inbox

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are goose migrations for the tables of this package, at the root of
// the file system. Run them with a version table of their own; payonce's own
// migrate command uses MigrationsTable.
var Migrations fs.FS = mustSub(files, "migrations")

// MigrationsTable is goose's version table for Migrations.
const MigrationsTable = "inbox_goose_version"

// mustSub cannot fail for a folder that the compiler has just embedded.
func mustSub(fsys fs.FS, folder string) fs.FS {
	sub, err := fs.Sub(fsys, folder)
	if err != nil {
		panic(err)
	}
	return sub
}
