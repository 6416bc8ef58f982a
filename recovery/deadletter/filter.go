package deadletter

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"tributary/sql/control"
)

// Filter says which letters are meant; what is empty holds for all.
type Filter struct {
	Topic     string // the original's logical name, or its full name
	Stage     string // that gave them up; its group's full name is taken too
	Exception string // the class: panic, stalled, crashed, failed, undecodable, refused, event_too_large
	Error     string // part of the error's text; capitals don't matter
	Centre    string // capitals don't matter
	Source    string
	File      string // name, or action/name; * and ? as in a shell
	Document  string // the entry's name; * and ? as in a shell
	State     string // what became of them; judged by who knows
	// Letters given up since and before. What insert gave up tells no time, and is
	// never meant where one is asked for: deciding about too little does no harm.
	Since, Until time.Time
}

// Where adds conditions as key=value to the filter; all must hold. ParseTime
// reads the times of since and until.
func (f *Filter) Where(conditions []string, parseTime func(string) (time.Time, error)) error {
	texts := map[string]*string{
		"topic": &f.Topic, "stage": &f.Stage, "group": &f.Stage, "exception": &f.Exception, "error": &f.Error,
		"centre": &f.Centre, "source": &f.Source, "file": &f.File, "document": &f.Document, "state": &f.State,
	}
	times := map[string]*time.Time{"since": &f.Since, "until": &f.Until}
	for _, c := range conditions {
		key, value, ok := strings.Cut(c, "=")
		if !ok || value == "" {
			return fmt.Errorf("%q is no condition: write key=value, such as exception=panic", c)
		}
		if t := times[key]; t != nil {
			at, err := parseTime(value)
			if err != nil {
				return fmt.Errorf("%s=%s: %w", key, value, err)
			}
			*t = at
			continue
		}
		field := texts[key]
		if field == nil {
			keys := slices.Sorted(maps.Keys(texts))
			return fmt.Errorf("no condition is called %q: known are %s, since and until", key, strings.Join(keys, ", "))
		}
		if *field != "" && *field != value {
			return fmt.Errorf("%s is given twice, as %q and as %q: all conditions must hold", key, *field, value)
		}
		*field = value
	}
	for _, pattern := range []string{f.File, f.Document} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	return nil
}

// Match tells whether a letter is meant, as far as the letter itself says.
func (f *Filter) Match(l *Letter) bool {
	switch {
	case f.Exception != "" && !strings.EqualFold(f.Exception, l.Class),
		f.Error != "" && !strings.Contains(strings.ToLower(l.Error), strings.ToLower(f.Error)),
		f.Centre != "" && !strings.EqualFold(f.Centre, l.Centre),
		f.Source != "" && f.Source != l.Source,
		l.Time.IsZero() && !(f.Since.IsZero() && f.Until.IsZero()),
		!f.Since.IsZero() && l.Time.Before(f.Since),
		!f.Until.IsZero() && !l.Time.Before(f.Until),
		f.Document != "" && !glob(f.Document, l.Entry):
		return false
	}
	if f.File == "" {
		return true
	}
	names := l.Files
	if l.FileName != "" {
		names = append(names[:len(names):len(names)], l.Action+"/"+l.FileName)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		_, bare, _ := strings.Cut(name, "/")
		return glob(f.File, name) || glob(f.File, bare)
	})
}

func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return name != "" && (ok && err == nil || pattern == name)
}

// lists tells whether a letter in a state is listed: in the one that is asked for,
// or in any, of which dropped must be wanted.
func (f *Filter) lists(state string, dropped bool) bool {
	if f.State != "" {
		return state == f.State
	}
	return dropped || state != control.LetterDropped
}
