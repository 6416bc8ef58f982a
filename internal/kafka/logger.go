package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// logger passes on what the client library says: its warnings and errors as
// warnings, as it goes on trying, and all else for debugging.
type logger struct {
	log   *slog.Logger
	quiet *Quiet // by message, which the library keeps constant
}

// Level implements kgo.Logger.
func (l logger) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if level > kgo.LogLevelWarn {
		l.log.Debug("kafka: "+msg, keyvals...)
		return
	}
	if missed, ok := l.quiet.Due(msg); ok {
		l.log.Warn("kafka: "+msg, append(keyvals, "not_logged", missed)...)
	}
}
