package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger passes what the client says on to zap. The client's "info" is about its
// own connections and metadata, which is debugging to everyone else.
type logger struct{ log *zap.Logger }

// Level implements [kgo.Logger].
func (l logger) Level() kgo.LogLevel {
	switch {
	case l.log.Core().Enabled(zapcore.DebugLevel):
		return kgo.LogLevelInfo
	case l.log.Core().Enabled(zapcore.WarnLevel):
		return kgo.LogLevelWarn
	default:
		return kgo.LogLevelError
	}
}

// Log implements [kgo.Logger].
func (l logger) Log(level kgo.LogLevel, message string, pairs ...any) {
	at := zapcore.DebugLevel
	switch level {
	case kgo.LogLevelWarn:
		at = zapcore.WarnLevel
	case kgo.LogLevelError:
		at = zapcore.ErrorLevel
	default:
	}
	l.log.Named("kafka").Sugar().Logw(at, message, pairs...)
}
