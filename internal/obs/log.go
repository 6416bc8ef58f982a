package obs

import (
	"fmt"
	"io"
	"log/slog"

	"tributary/internal/config"
)

// NewLogger returns a logger that writes to w as configured: as text or JSON,
// and with "auto" as text when w is a terminal.
func NewLogger(w io.Writer, terminal bool, cfg config.Log) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		return nil, fmt.Errorf("log.level %q is not known: use debug, info, warn or error", cfg.Level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch cfg.Format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(newTextHandler(w, options)), nil
	case "auto":
		if terminal {
			return slog.New(newTextHandler(w, options)), nil
		}
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("log.format %q is not known: use auto, text or json", cfg.Format)
}

// newTextHandler is slog's, with the time of day only: who reads a terminal
// knows the date.
func newTextHandler(w io.Writer, options *slog.HandlerOptions) slog.Handler {
	o := *options
	o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}
	return slog.NewTextHandler(w, &o)
}
