// Package deploy holds what turns the programs into containers.
//
//	cmd/*, examples/billing ──Dockerfile──> images ──docker-compose.yml──> a pipeline that is ready
//
// There is no code in it, only the tests that keep its files honest: they name
// exactly the programs that there are, set only what those programs read, and
// start nothing before what it stands on.
package deploy
