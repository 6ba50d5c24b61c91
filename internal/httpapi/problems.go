package httpapi

import (
	"cmp"
	"slices"

	"github.com/payonce/payonce/internal/problem"
)

// Problems are the problems that any endpoint can answer, by status and name.
func Problems() []problem.Problem {
	all := []problem.Problem{problem.MethodNotAllowed}
	for _, r := range routes() {
		all = append(all, commonProblems(r.about)...)
		all = append(all, r.about.problems...)
	}
	slices.SortFunc(all, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}
