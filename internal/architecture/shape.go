package architecture

import (
	"fmt"
	"go/ast"
	"slices"
)

// limits bounds what a reader has to hold in the head at once. Generated files
// are exempt.
type limits struct {
	fileLines     int
	functionLines int // tests are exempt
}

// check reports files and functions that grew too long.
func (l limits) check(t *tree) []violation {
	var found []violation
	for _, p := range t.packages {
		for _, s := range p.sources {
			if ast.IsGenerated(s.ast) {
				continue
			}
			if s.lines > l.fileLines {
				found = append(found, violation{path: s.path, text: fmt.Sprintf("has %d lines, more than %d", s.lines, l.fileLines)})
			}
			if !s.test {
				found = append(found, l.checkFunctions(t, s)...)
			}
		}
	}
	return found
}

func (l limits) checkFunctions(t *tree, s source) []violation {
	var found []violation
	for _, decl := range s.ast.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := t.line(function.Pos()), t.line(function.End())
		if lines := last - first + 1; lines > l.functionLines {
			text := fmt.Sprintf("%s has %d lines, more than %d", function.Name.Name, lines, l.functionLines)
			found = append(found, violation{s.path, first, text})
		}
	}
	return found
}

// checkPackageComments reports packages that do not say what they are for.
func checkPackageComments(t *tree) []violation {
	var found []violation
	for _, p := range t.packages {
		documented := slices.ContainsFunc(p.sources, func(s source) bool { return s.ast.Doc != nil })
		if !documented {
			found = append(found, violation{path: p.dir, text: "has no package comment"})
		}
	}
	return found
}
