package architecture

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// owner is the one package whose SQL writes some tables.
type owner struct {
	pkg    string
	tables string // separated by spaces
}

// owners says who writes which table. Reading is free for all.
type owners struct {
	rows       []owner
	migrations string // the package whose SQL creates and fills any table
	testTools  string // a folder that only tests use; its SQL is not looked at
}

// statements is how a write looks in SQL text. The words after the table's name
// keep prose such as "cannot update payment" out; FOR UPDATE and DO UPDATE SET
// name no table.
var statements = regexp.MustCompile(`(?is)\b(?:` + strings.Join([]string{
	`INSERT\s+INTO\s+` + tableName + `(?:\s+AS\s+\w+)?\s*(?:\(|VALUES\b|SELECT\b|DEFAULT\b|OVERRIDING\b)`,
	`UPDATE\s+(?:ONLY\s+)?` + tableName + `(?:\s+AS)?(?:\s+\w+)?\s+SET\b`,
	`DELETE\s+FROM\s+(?:ONLY\s+)?` + tableName,
	`MERGE\s+INTO\s+(?:ONLY\s+)?` + tableName,
	`(?-i:TRUNCATE)\s+(?:TABLE\s+)?(?:ONLY\s+)?` + tableName,
	`COPY\s+` + tableName + `\s*(?:\([^)]*\))?\s+FROM\b`,
}, `|`) + `)`)

// tableName is a table's name in SQL, perhaps with its schema and in quotes.
const tableName = `(?:"?\w+"?\.)?"?(\w+)"?`

var (
	creations = regexp.MustCompile(`(?is)\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?` + tableName + `\s*\(`)
	comments  = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/`)
)

// write is one place that writes a table.
type write struct {
	table string
	path  string
	line  int
}

// check reports writes to a table by any package but its owner, and to tables
// that have no owner. Tests and the migrations are exempt.
func (o owners) check(t *tree) []violation {
	var found []violation
	for _, p := range t.packages {
		if p.dir == o.migrations || o.isTestTool(p) {
			continue
		}
		for _, w := range writes(t, p) {
			switch holder := o.of(w.table); {
			case holder == "":
				found = append(found, violation{w.path, w.line, "writes " + w.table + ", which no package owns"})
			case holder != p.dir:
				found = append(found, violation{w.path, w.line, "writes " + w.table + ", which " + holder + " owns"})
			}
		}
	}
	return found
}

// checkTables reports tables that a migration creates and nobody owns, and owned
// tables that no migration creates.
func (o owners) checkTables(t *tree) []violation {
	var found []violation
	created := map[string]bool{}
	for _, p := range t.packages {
		if o.isTestTool(p) {
			continue
		}
		for _, q := range p.queries {
			for _, w := range scan(creations, uncommented(q.text)) {
				created[w.table] = true
				if o.of(w.table) == "" {
					found = append(found, violation{q.path, w.line, "creates " + w.table + ", which no package owns"})
				}
			}
		}
	}
	for _, row := range o.rows {
		for table := range strings.FieldsSeq(row.tables) {
			if !created[table] {
				found = append(found, violation{path: row.pkg, text: "owns " + table + ", which no migration creates"})
			}
		}
	}
	return found
}

func (o owners) isTestTool(p *pkg) bool { return strings.HasPrefix(p.dir+"/", o.testTools+"/") }

func (o owners) of(table string) string {
	for _, row := range o.rows {
		if slices.Contains(strings.Fields(row.tables), table) {
			return row.pkg
		}
	}
	return ""
}

// writes returns the writes of a package's .sql files and Go files.
func writes(t *tree, p *pkg) []write {
	var all []write
	for _, q := range p.queries {
		all = append(all, placed(q.path, 0, scan(statements, uncommented(q.text)))...)
	}
	for _, s := range p.sources {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				all = append(all, placed(s.path, t.line(call.Pos()), copies(call))...)
			}
			text, ok := constant(node)
			if !ok {
				return true
			}
			all = append(all, placed(s.path, t.line(node.Pos())-1, scan(statements, uncommented(text)))...)
			return false
		})
	}
	return all
}

// placed says where the writes stand, given the line before their text.
func placed(path string, before int, found []write) []write {
	for i := range found {
		found[i].path = path
		found[i].line += before
	}
	return found
}

// scan returns what a pattern finds; the one group that matched is the table.
func scan(pattern *regexp.Regexp, text string) []write {
	var found []write
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				table := strings.ToLower(text[at[group]:at[group+1]])
				found = append(found, write{table: table, line: 1 + strings.Count(text[:at[group]], "\n")})
			}
		}
	}
	return found
}

// uncommented blanks comments out and keeps the lines.
func uncommented(sql string) string {
	return comments.ReplaceAllStringFunc(sql, func(comment string) string {
		return strings.Repeat("\n", strings.Count(comment, "\n"))
	})
}

// constant returns a string literal, or literals joined by +, as one text. Parts
// that are not literals are left out.
func constant(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.BasicLit:
		if n.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(n.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			return "", false
		}
		left, leftOK := constant(n.X)
		right, rightOK := constant(n.Y)
		if !leftOK && !rightOK {
			return "", false
		}
		return left + right, true
	default:
		return "", false
	}
}

// copies returns the table of pgx's CopyFrom(ctx, pgx.Identifier{"table"}, …),
// which writes without SQL text.
func copies(call *ast.CallExpr) []write {
	if lastName(call.Fun) != "CopyFrom" || len(call.Args) < 2 {
		return nil
	}
	identifier, ok := call.Args[1].(*ast.CompositeLit)
	if !ok || len(identifier.Elts) == 0 {
		return nil
	}
	table, ok := constant(identifier.Elts[len(identifier.Elts)-1])
	if !ok {
		return nil
	}
	return []write{{table: table}}
}
