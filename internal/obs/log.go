package obs

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"tributary/internal/config"
	"tributary/schemas"
)

// SetLevel has a logger that goes by v write from a level on: debug, info, warn or
// error.
func SetLevel(v *slog.LevelVar, name string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil || strings.ContainsAny(name, "+-") {
		return fmt.Errorf("log.level %q is not known: use debug, info, warn or error", name)
	}
	v.Set(level)
	return nil
}

// NewLogger returns a logger that writes to w as configured: as text or JSON, and
// with "auto" as text when w is a terminal. Its level may change later: by SetLevel of v.
func NewLogger(w io.Writer, terminal bool, cfg config.Log, level *slog.LevelVar) (*slog.Logger, error) {
	if err := SetLevel(level, cfg.Level); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: bounded}
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

// maxValue bounds a value of a log line, in bytes: what a server answers may end
// in an error's text.
const maxValue = 16 << 10

// bounded cuts a value that is too long for a line.
func bounded(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		if len(v.String()) > maxValue {
			a.Value = slog.StringValue(schemas.Cut(v.String(), maxValue))
		}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok && err != nil {
			if text := err.Error(); len(text) > maxValue {
				a.Value = slog.StringValue(schemas.Cut(text, maxValue))
			}
		}
	}
	return a
}

// newTextHandler is slog's, with the time of day only: who reads a terminal
// knows the date.
func newTextHandler(w io.Writer, options *slog.HandlerOptions) slog.Handler {
	o := *options
	o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		a = bounded(groups, a)
		if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}
	return slog.NewTextHandler(w, &o)
}
