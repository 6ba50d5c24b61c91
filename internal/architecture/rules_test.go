package architecture

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// files is a small module for the tests below: path to text.
type files map[string]string

// broken runs one check over a small module and returns what it reports.
func broken(t *testing.T, source files, check func(*tree) []violation) []string {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range source {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	small, err := load(root)
	require.NoError(t, err)
	reports := []string{}
	for _, v := range check(small) {
		reports = append(reports, v.String())
	}
	return reports
}

// smallArrows is a table of two packages.
func smallArrows() arrows {
	return arrows{
		module: "example.com/shop",
		rows: []arrow{
			{pkg: "outbox", modules: "pgx"},
			{pkg: "relay", imports: "outbox", modules: "franz", tests: "intake"},
			{pkg: "intake"},
		},
		modules: map[string]string{
			"pgx":   "github.com/jackc/pgx/v5",
			"franz": "github.com/twmb/franz-go",
			"kfake": "github.com/twmb/franz-go/pkg/kfake",
		},
		testImports: "testkit",
		testModules: "kfake",
	}
}

func TestAnImportAgainstTheArrowIsReported(t *testing.T) {
	t.Parallel()
	source := files{
		"outbox/a.go": "package outbox\nimport (\n\"context\"\n\"github.com/jackc/pgx/v5/pgxpool\"\n\"example.com/shop/relay\"\n)",
		"relay/a.go":  "package relay\nimport (\n\"example.com/shop/outbox\"\n\"github.com/twmb/franz-go/pkg/kgo\"\n)",
	}
	require.Equal(t, []string{"outbox/a.go:5: outbox may not import relay"}, broken(t, source, smallArrows().check))
}

func TestAnotherModuleNeedsAnArrowToo(t *testing.T) {
	t.Parallel()
	source := files{
		"outbox/a.go": "package outbox\nimport \"github.com/jackc/pgx/v4\"",
		"relay/a.go":  "package relay\nimport \"github.com/twmb/franz-go/pkg/kfake\"",
	}
	require.Equal(t, []string{
		"outbox/a.go:2: outbox may not import github.com/jackc/pgx/v4",
		"relay/a.go:2: relay may not import github.com/twmb/franz-go/pkg/kfake",
	}, broken(t, source, smallArrows().check))
}

func TestAPackageWithoutARowIsReported(t *testing.T) {
	t.Parallel()
	source := files{"billing/a.go": "package billing"}
	require.Equal(t, []string{"billing: has no row in the table of arrows"}, broken(t, source, smallArrows().check))
}

func TestOnlyTestsUseTheArrowsOfTests(t *testing.T) {
	t.Parallel()
	imports := "\nimport (\n\"example.com/shop/testkit\"\n\"example.com/shop/intake\"\n\"github.com/twmb/franz-go/pkg/kfake\"\n)"
	source := files{
		"relay/a.go":      "package relay" + imports,
		"relay/a_test.go": "package relay_test" + imports,
	}
	require.Equal(t, []string{
		"relay/a.go:3: relay may not import testkit",
		"relay/a.go:4: relay may not import intake",
		"relay/a.go:5: relay may not import github.com/twmb/franz-go/pkg/kfake",
	}, broken(t, source, smallArrows().check))
}

func TestAnArrowThatNothingUsesIsReported(t *testing.T) {
	t.Parallel()
	source := files{
		"outbox/a.go":     "package outbox\nimport \"github.com/jackc/pgx/v5\"",
		"relay/a.go":      "package relay\nimport \"github.com/twmb/franz-go/pkg/kgo\"",
		"relay/a_test.go": "package relay\nimport \"example.com/shop/intake\"",
	}
	require.Equal(t, []string{
		"relay: does not use its arrow to outbox",
		"intake: has a row in the table of arrows and is not there",
	}, broken(t, source, smallArrows().unused))
}

// smallOwners knows two tables.
func smallOwners() owners {
	return owners{
		rows: []owner{
			{pkg: "outbox", tables: "outbox outbox_lane"},
			{pkg: "ledger", tables: "entry"},
		},
		migrations: "schema",
		testTools:  "testkit",
	}
}

func TestAWriteByAnotherThanTheOwnerIsReported(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"insert":         "INSERT INTO outbox (lane) VALUES (1)",
		"insert select":  "insert into public.\"outbox\"\nSELECT 1",
		"update":         "UPDATE outbox SET lane = 1",
		"update alias":   "UPDATE ONLY outbox AS o SET lane = 1",
		"delete in CTE":  "WITH gone AS (DELETE FROM outbox RETURNING id) SELECT 1 FROM gone",
		"merge":          "MERGE INTO outbox o USING other ON true WHEN MATCHED THEN DELETE",
		"truncate":       "TRUNCATE TABLE outbox",
		"copy":           "COPY outbox (lane) FROM STDIN",
		"after comments": "/* why */ DELETE -- all of\n FROM outbox",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := files{"relay/a.go": "package relay", "relay/sql/drain.sql": sql, "outbox/a.go": "package outbox", "outbox/a.sql": sql}
			reports := broken(t, source, smallOwners().check)
			require.Len(t, reports, 1)
			require.Contains(t, reports[0], "relay/sql/drain.sql:")
			require.Contains(t, reports[0], "writes outbox, which outbox owns")
		})
	}
}

func TestReadingAndLockingAreNotWriting(t *testing.T) {
	t.Parallel()
	source := files{
		"relay/a.go": "package relay\nconst problem = \"cannot update outbox rows; please insert into outbox later\"",
		"relay/a.sql": "-- UPDATE outbox SET lane = 1\nSELECT lane FROM outbox FOR UPDATE SKIP LOCKED;\n" +
			"SELECT 1 FROM outbox FOR UPDATE OF outbox",
		"ledger/a.sql": "INSERT INTO entry (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 1",
		"ledger/a.go":  "package ledger",
	}
	require.Empty(t, broken(t, source, smallOwners().check))
}

func TestSQLInGoCodeIsReadToo(t *testing.T) {
	t.Parallel()
	source := files{
		"relay/a.go": strings.Join([]string{
			"package relay",
			"const drain = `",
			"  DELETE FROM outbox`",
			"var joined = \"UPDATE outbox \" + \"SET lane = \" + lane",
			"func f() { pool.CopyFrom(ctx, pgx.Identifier{\"public\", \"outbox\"}, columns, rows) }",
		}, "\n"),
		"relay/a_test.go": "package relay\nconst planted = `DELETE FROM outbox`",
	}
	require.Equal(t, []string{
		"relay/a.go:3: writes outbox, which outbox owns",
		"relay/a.go:4: writes outbox, which outbox owns",
		"relay/a.go:5: writes outbox, which outbox owns",
	}, broken(t, source, smallOwners().check))
}

func TestMigrationsFillTablesAndTestToolsDoAsTheyLike(t *testing.T) {
	t.Parallel()
	source := files{
		"schema/schema.go":   "package schema",
		"schema/1.sql":       "CREATE TABLE outbox (lane int); CREATE TABLE outbox_lane (lane int); INSERT INTO outbox_lane VALUES (1);",
		"schema/2.sql":       "CREATE TABLE entry (id int)",
		"testkit/testkit.go": "package testkit",
		"testkit/rows/a.go":  "package rows\nconst q = `DELETE FROM entry`",
		"testkit/clock.sql":  "CREATE TABLE clock (now timestamptz); DELETE FROM outbox",
	}
	require.Empty(t, broken(t, source, smallOwners().check))
	require.Empty(t, broken(t, source, smallOwners().checkTables))
}

func TestAWriteToATableWithoutAnOwnerIsReported(t *testing.T) {
	t.Parallel()
	source := files{"relay/a.go": "package relay\nconst q = \"DELETE FROM notes\""}
	require.Equal(t, []string{"relay/a.go:2: writes notes, which no package owns"}, broken(t, source, smallOwners().check))
}

func TestMigrationsAndOwnersNameTheSameTables(t *testing.T) {
	t.Parallel()
	source := files{
		"schema/schema.go": "package schema",
		"schema/migrations/00001_all.sql": "CREATE TABLE outbox (lane int);\n-- CREATE TABLE later (id int);\n" +
			"CREATE TABLE IF NOT EXISTS notes\n(id int);\nCREATE TABLE entry (id int);",
	}
	require.Equal(t, []string{
		"schema/migrations/00001_all.sql:3: creates notes, which no package owns",
		"outbox: owns outbox_lane, which no migration creates",
	}, broken(t, source, smallOwners().checkTables))
}

func TestVagueNamesAreReported(t *testing.T) {
	t.Parallel()
	source := files{"common/a.go": "package money", "text/a.go": "package utils", "money/a.go": "package money_test"}
	require.Equal(t, []string{
		`common: "common" says nothing about what is in it`,
		`text: "utils" says nothing about what is in it`,
	}, broken(t, source, func(small *tree) []violation { return checkNames(small, vague) }))
}

func TestTwoLibrariesWithOneNameAreReported(t *testing.T) {
	t.Parallel()
	source := files{
		"cmd/relay/a.go": "package main", "cmd/worker/a.go": "package main",
		"internal/event/a.go": "package event", "pkg/event/a.go": "package event", "pkg/event/a_test.go": "package event_test",
	}
	require.Equal(t, []string{"pkg/event: is called event, as internal/event is"}, broken(t, source, checkUniqueNames))
}

func TestLongFilesAndFunctionsAreReported(t *testing.T) {
	t.Parallel()
	long := "package a\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", 5) + "}\n"
	source := files{
		"a/a.go":         long,
		"a/a_test.go":    long,
		"a/generated.go": "// Code generated by hand. DO NOT EDIT.\n\n" + long,
		"a/long.go":      "package a\n" + strings.Repeat("\n", 10),
	}
	require.Equal(t, []string{
		"a/a.go:3: long has 7 lines, more than 6",
		"a/long.go: has 11 lines, more than 10",
	}, broken(t, source, limits{fileLines: 10, functionLines: 6}.check))
}

func TestAPackageWithoutACommentIsReported(t *testing.T) {
	t.Parallel()
	source := files{"a/a.go": "package a", "b/b.go": "package b", "b/doc.go": "// Package b says why.\npackage b"}
	require.Equal(t, []string{"a: has no package comment"}, broken(t, source, checkPackageComments))
}

func TestSleepsAndSkipsInTestsAreReported(t *testing.T) {
	t.Parallel()
	code := strings.Join([]string{
		"package a",
		"import clock \"time\"",
		"func TestOne(t *testing.T) {",
		"  clock.Sleep(1)",
		"  t.Skipf(\"not today\")",
		"  bundle.t.SkipNow()",
		"  rapid.Check(t, func(t *rapid.T) { t.Skip() })",
		"  reader.Skip()",
		"}",
	}, "\n")
	require.Equal(t, []string{
		"a/a_test.go:4: a test does not sleep: wait for what it waits for",
		"a/a_test.go:5: a test does not skip: let it fail and say what is missing",
		"a/a_test.go:6: a test does not skip: let it fail and say what is missing",
	}, broken(t, files{"a/a.go": code, "a/a_test.go": code}, checkTests))
}

func TestFilesThatGoLeavesOutAreLeftOut(t *testing.T) {
	t.Parallel()
	source := files{
		"a/a.go": "// Package a counts.\npackage a", "a/testdata/b.go": "package b", ".hidden/b.go": "package b", "_old/b.go": "package b",
		"tools/go.mod": "module tools", "tools/b.go": "package b",
	}
	require.Empty(t, broken(t, source, checkPackageComments))
}
