package architecture

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// checkTests reports tests that sleep, because a sleep is either too short or
// too long, and tests that skip, because a promise that was not tried looks like
// one that holds.
func checkTests(t *tree) []violation {
	var found []violation
	for _, p := range t.packages {
		for _, s := range p.sources {
			if !s.test {
				continue
			}
			report := func(pos token.Pos, text string) {
				found = append(found, violation{s.path, t.line(pos), text})
			}
			ast.Walk(testVisitor{clock: importedAs(s.ast, "time"), report: report}, s.ast)
		}
	}
	return found
}

// testVisitor walks one test file. drawn are the names that stand for a
// *rapid.T in the function at hand: its Skip throws a drawn value away and skips
// no test.
type testVisitor struct {
	clock  string
	drawn  []string
	report func(token.Pos, string)
}

// Visit implements [ast.Visitor].
func (v testVisitor) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.FuncDecl:
		v.drawn = slices.Concat(v.drawn, rapidParameters(n.Type))
	case *ast.FuncLit:
		v.drawn = slices.Concat(v.drawn, rapidParameters(n.Type))
	case *ast.SelectorExpr:
		v.look(n)
	}
	return v
}

func (v testVisitor) look(n *ast.SelectorExpr) {
	receiver := lastName(n.X)
	switch n.Sel.Name {
	case "Sleep":
		if v.clock != "" && receiver == v.clock {
			v.report(n.Pos(), "a test does not sleep: wait for what it waits for")
		}
	case "Skip", "Skipf", "SkipNow":
		if slices.Contains([]string{"t", "tb", "b", "f"}, receiver) && !slices.Contains(v.drawn, receiver) {
			v.report(n.Pos(), "a test does not skip: let it fail and say what is missing")
		}
	}
}

// lastName returns t for both t and bundle.t.
func lastName(x ast.Expr) string {
	switch n := x.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	default:
		return ""
	}
}

// rapidParameters returns the names of a function's *rapid.T parameters.
func rapidParameters(function *ast.FuncType) []string {
	var names []string
	for _, field := range function.Params.List {
		pointer, ok := field.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		kind, ok := pointer.X.(*ast.SelectorExpr)
		if !ok || lastName(kind.X) != "rapid" {
			continue
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// importedAs returns the name under which a file knows a package of the
// standard library, or nothing.
func importedAs(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if target, _ := strconv.Unquote(spec.Path.Value); target != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path
	}
	return ""
}
