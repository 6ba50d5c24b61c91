package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkNames reports packages whose name says nothing about what they hold.
func checkNames(t *tree, forbidden []string) []violation {
	var found []violation
	for _, p := range t.packages {
		for _, name := range []string{p.name(), path.Base(p.dir)} {
			if slices.Contains(forbidden, strings.ToLower(name)) {
				found = append(found, violation{path: p.dir, text: fmt.Sprintf("%q says nothing about what is in it", name)})
				break
			}
		}
	}
	return found
}

// checkUniqueNames reports library packages that share a name, because a reader
// of outbox.Append shall not have to look up which outbox. Programs are exempt.
func checkUniqueNames(t *tree) []violation {
	var found []violation
	first := map[string]string{}
	for _, p := range t.packages {
		name := p.name()
		switch {
		case name == "main":
		case first[name] == "":
			first[name] = p.dir
		default:
			found = append(found, violation{path: p.dir, text: fmt.Sprintf("is called %s, as %s is", name, first[name])})
		}
	}
	return found
}
