// Command intake takes payments on over HTTP. See docs/CONFIGURATION.md for its configuration.
package main

import (
	"os"

	"github.com/payonce/payonce/internal/app"
)

func main() { os.Exit(app.Main("intake", os.Args[1:]...)) }
