package architecture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arrow says what one package stands on. The lists are separated by spaces;
// what is not in them may not be imported.
type arrow struct {
	pkg     string // folder, from the module's root
	imports string // packages of this module
	modules string // others' modules, by the names of arrows.modules
	tests   string // what its tests may import besides, of this module
}

// arrows is the whole picture of who may import whom. The standard library is
// free for all.
type arrows struct {
	module      string            // path of this module
	rows        []arrow           // a package without a row is a violation
	modules     map[string]string // short name -> import path prefix
	testImports string            // what every test may import, of this module
	testModules string            // and of others
}

// check reports each import that no arrow allows, and each package without a
// row.
func (a arrows) check(t *tree) []violation {
	var found []violation
	for _, p := range t.packages {
		row := slices.IndexFunc(a.rows, func(r arrow) bool { return r.pkg == p.dir })
		if row < 0 {
			found = append(found, violation{path: p.dir, text: "has no row in the table of arrows"})
			continue
		}
		for _, s := range p.sources {
			for _, spec := range s.ast.Imports {
				target, _ := strconv.Unquote(spec.Path.Value)
				if reason := a.refuse(a.rows[row], target, s.test); reason != "" {
					found = append(found, violation{s.path, t.line(spec.Pos()), reason})
				}
			}
		}
	}
	return found
}

// refuse returns why a package may not import target, or nothing.
func (a arrows) refuse(row arrow, target string, test bool) string {
	if own, ok := a.own(target); ok {
		allowed := strings.Fields(row.imports)
		if test {
			allowed = slices.Concat(allowed, strings.Fields(row.tests), strings.Fields(a.testImports), []string{row.pkg})
		}
		if slices.Contains(allowed, own) {
			return ""
		}
		return fmt.Sprintf("%s may not import %s", row.pkg, own)
	}
	if standard(target) {
		return ""
	}
	allowed := strings.Fields(row.modules)
	if test {
		allowed = append(allowed, strings.Fields(a.testModules)...)
	}
	if slices.Contains(allowed, a.foreign(target)) {
		return ""
	}
	return fmt.Sprintf("%s may not import %s", row.pkg, target)
}

// unused reports rows and arrows that nothing uses: a wide table forbids
// little.
func (a arrows) unused(t *tree) []violation {
	var found []violation
	for _, row := range a.rows {
		at := slices.IndexFunc(t.packages, func(p *pkg) bool { return p.dir == row.pkg })
		if at < 0 {
			found = append(found, violation{path: row.pkg, text: "has a row in the table of arrows and is not there"})
			continue
		}
		used := a.imported(t.packages[at])
		for _, name := range slices.Concat(strings.Fields(row.imports), strings.Fields(row.modules), strings.Fields(row.tests)) {
			if !used[name] {
				found = append(found, violation{path: row.pkg, text: "does not use its arrow to " + name})
			}
		}
	}
	return found
}

// imported returns the names, as the table writes them, of what a package and
// its tests import.
func (a arrows) imported(p *pkg) map[string]bool {
	used := map[string]bool{}
	for _, s := range p.sources {
		for _, spec := range s.ast.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := a.own(target); ok {
				used[own] = true
			} else {
				used[a.foreign(target)] = true
			}
		}
	}
	return used
}

// own returns the folder of one of this module's packages.
func (a arrows) own(target string) (string, bool) {
	return strings.CutPrefix(target, a.module+"/")
}

// foreign returns the short name of the module that target belongs to: the
// longest prefix wins, because some modules lie inside others.
func (a arrows) foreign(target string) string {
	best := ""
	for name, prefix := range a.modules {
		within := target == prefix || strings.HasPrefix(target, prefix+"/")
		if within && len(prefix) > len(a.modules[best]) {
			best = name
		}
	}
	return best
}

// standard reports whether target is of the standard library, whose paths have
// no dot in their first element.
func standard(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return !strings.Contains(first, ".")
}
