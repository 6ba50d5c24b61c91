// Package telemetry makes the logger of a process.
//
//	process ──structured lines──> standard error
//
// Log words are constant; what varies is a field, and each field has one name
// everywhere. No field holds card data, a token or a secret.
package telemetry

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewLogger returns a logger that writes one JSON object in a line to standard
// error, with the name of the process in each. It drops nothing: a line about
// money must not be missing because there were many like it. level is the name
// of a level of zap.
func NewLogger(process, level string) (*zap.Logger, error) {
	config := zap.NewProductionConfig()
	config.Sampling = nil
	config.DisableStacktrace = true // errors say where they come from
	config.EncoderConfig.TimeKey = "time"
	config.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncoderConfig.EncodeDuration = zapcore.StringDurationEncoder
	config.InitialFields = map[string]any{"process": process}
	var err error
	if config.Level, err = zap.ParseAtomicLevel(level); err != nil {
		return nil, fmt.Errorf("reading the level of the log: %w", err)
	}
	log, err := config.Build()
	if err != nil {
		return nil, fmt.Errorf("making the logger: %w", err)
	}
	return log, nil
}
