package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// tree is the source of one Go module, as text.
type tree struct {
	files    *token.FileSet
	packages []*pkg // sorted by dir
}

// pkg is one folder that holds Go files.
type pkg struct {
	dir     string // relative to the module's root, with slashes
	sources []source
	queries []query
}

// source is one Go file.
type source struct {
	path  string
	lines int
	test  bool
	ast   *ast.File
}

// query is one .sql file; it belongs to the nearest package at or above it.
type query struct {
	path string
	text string
}

// violation is one place that breaks one rule. Line 0 means the whole file or
// folder.
type violation struct {
	path string
	line int
	text string
}

// String puts the place first, in the form that editors can jump to.
func (v violation) String() string {
	if v.line == 0 {
		return v.path + ": " + v.text
	}
	return fmt.Sprintf("%s:%d: %s", v.path, v.line, v.text)
}

// name is the package's name as its own files write it.
func (p *pkg) name() string {
	for _, s := range p.sources {
		if name := s.ast.Name.Name; !strings.HasSuffix(name, "_test") {
			return name
		}
	}
	return strings.TrimSuffix(p.sources[0].ast.Name.Name, "_test")
}

// load reads the module that root holds. It skips what the go command skips,
// and modules inside the module.
func load(root fs.FS) (*tree, error) {
	t := &tree{files: token.NewFileSet()}
	found := map[string]*pkg{}
	var queries []query
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return enter(root, name)
		case path.Ext(name) == ".sql":
			text, err := fs.ReadFile(root, name)
			queries = append(queries, query{path: name, text: string(text)})
			return err
		case path.Ext(name) != ".go":
			return nil
		}
		s, err := t.parse(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if found[dir] == nil {
			found[dir] = &pkg{dir: dir}
			t.packages = append(t.packages, found[dir])
		}
		found[dir].sources = append(found[dir].sources, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the source tree: %w", err)
	}
	slices.SortFunc(t.packages, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return t, attach(queries, found)
}

// enter says whether the walk goes into a folder.
func enter(root fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) parse(root fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(t.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	return source{
		path:  name,
		lines: t.files.File(file.Pos()).LineCount(),
		test:  strings.HasSuffix(name, "_test.go"),
		ast:   file,
	}, nil
}

// attach gives each .sql file to the nearest package at or above it.
func attach(queries []query, packages map[string]*pkg) error {
	for _, q := range queries {
		dir := path.Dir(q.path)
		for packages[dir] == nil && dir != "." {
			dir = path.Dir(dir)
		}
		if packages[dir] == nil {
			return fmt.Errorf("%s lies beside no package", q.path)
		}
		packages[dir].queries = append(packages[dir].queries, q)
	}
	return nil
}

func (t *tree) line(pos token.Pos) int { return t.files.Position(pos).Line }
