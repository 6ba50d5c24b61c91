package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Error holds everything that is wrong with a configuration. Each problem says
// what to set.
type Error struct{ Problems []string }

// Error implements error, one problem in a line.
func (e *Error) Error() string {
	return "the configuration has problems:\n  " + strings.Join(e.Problems, "\n  ")
}

// Process is the configuration of one process, a struct of this package.
type Process[C any] interface {
	withDefaults() C
	relations() []string
}

// Load reads the configuration of a process from an environment in the form of
// os.Environ. The checks are what the process knows about its values and this
// package does not; they also see a configuration that has other problems, whose
// fields are zero where a value was bad. The error is an *Error.
func Load[C Process[C]](environ []string, checks ...func(C) []string) (C, error) {
	var zero C
	c := zero.withDefaults()
	variables := namesOf(c)
	environment, problems := prepare(environ, variables)
	err := env.ParseWithOptions(&c, env.Options{Environment: environment, Prefix: Prefix})
	problems = append(problems, explain(err, variables)...)
	problems = append(problems, c.relations()...)
	for _, check := range checks {
		problems = append(problems, check(c)...)
	}
	if len(problems) > 0 {
		return c, &Error{Problems: problems}
	}
	return c, nil
}

// prepare looks at all names, then takes what the process's own variables hold,
// directly or in a file.
func prepare(environ []string, variables []variable) (map[string]string, []string) {
	given := env.ToMap(environ)
	problems := unknownNames(given)
	environment := map[string]string{}
	for _, v := range variables {
		value, set, err := v.value(given)
		switch {
		case err != nil:
			problems = append(problems, err.Error())
			environment[v.name] = "" // reported: it is not missing as well
		case set:
			environment[v.name] = value
		}
	}
	return environment, problems
}

// explain turns the parser's errors, which name fields of Go, into ours.
func explain(err error, variables []variable) []string {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return nil
	}
	var problems []string
	for _, err := range all.Errors {
		var missing env.VarIsNotSetError
		var bad env.ParseError
		switch {
		case errors.As(err, &missing):
			v := find(variables, func(v variable) bool { return v.name == missing.Key })
			problems = append(problems, fmt.Sprintf("%s is missing: set it to %s", v.name, v.help))
		case errors.As(err, &bad):
			v := find(variables, func(v variable) bool { return v.field == bad.Name })
			problems = append(problems, fmt.Sprintf("%s: %v; set it to %s", v.name, bad.Err, v.help))
		default:
			problems = append(problems, err.Error())
		}
	}
	return problems
}

func find(variables []variable, is func(variable) bool) variable {
	i := slices.IndexFunc(variables, is)
	return variables[i]
}
