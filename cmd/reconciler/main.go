// Command reconciler finds out what became of payments whose outcome is unknown. See
// docs/CONFIGURATION.md for its configuration.
package main

import (
	"os"

	"github.com/payonce/payonce/internal/app"
)

func main() { os.Exit(app.Main("reconciler", os.Args[1:]...)) }
