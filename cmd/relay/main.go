// Command relay publishes events to Kafka. See docs/CONFIGURATION.md for its configuration.
package main

import (
	"os"

	"github.com/payonce/payonce/internal/app"
)

func main() { os.Exit(app.Main("relay", os.Args[1:]...)) }
