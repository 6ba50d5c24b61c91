// Command worker sends payments to providers. See docs/CONFIGURATION.md for its configuration.
package main

import (
	"os"

	"github.com/payonce/payonce/internal/app"
)

func main() { os.Exit(app.Main("worker", os.Args[1:]...)) }
