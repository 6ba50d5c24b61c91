// Package architecture holds the rules that a compiler does not: who may import
// whom, who writes which table, what a package is called, how long things get.
//
//	the repository's files ──> tree ──> one check per rule ──> violations
//
// The rules' tables stand in tables_test.go and are meant to be read: they are
// the picture of the project. The checks read source text and nothing else, so
// they see every file, also those that another operating system builds.
//
// A check finds what a person writes in good faith. It does not find SQL whose
// table name is put together at run time.
package architecture
