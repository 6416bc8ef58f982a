package recipe

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/queries/asof"
	"tributary/schemas"
	"tributary/sql/history/recipes"
)

// layout is a point in time as ClickHouse reads it for DateTime64(6).
const layout = "2006-01-02 15:04:05.000000"

// Values turns what was given for parameters, by name, into what the database
// is given: defaults for what is missing, and an error, which says what is
// right, for what the recipe does not have or what can't be read. A moment's default
// counts back from --until, or else from now.
func Values(r recipes.Recipe, given map[string]string, now time.Time) (map[string]string, error) {
	for name := range given {
		if _, ok := r.Parameter(name); !ok {
			return nil, fmt.Errorf("report %s has no --%s: it has %s", r.Name, name, flags(r))
		}
	}
	out := map[string]string{}
	for _, p := range r.Parameters {
		from := now
		if p.Kind == recipes.Moment && given[p.Name] == "" && p.Name != "until" && given["until"] != "" {
			var err error
			if from, err = moment(given["until"], now); err != nil {
				return nil, fmt.Errorf("--until: %w", err)
			}
		}
		v, err := value(p, given[p.Name], from)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", p.Name, err)
		}
		out[p.Name] = v
	}
	if out["since"] > out["until"] {
		return nil, fmt.Errorf("--since %s is after --until %s, so nothing can lie between: exchange them", given["since"], given["until"])
	}
	return out, nil
}

// Written is a recipe's statement with values, as Values has them, in place of parameters: to
// be changed, and asked by itself.
func Written(r recipes.Recipe, values map[string]string) string {
	return regexp.MustCompile(`\{(\w+):([^}]+)\}`).ReplaceAllStringFunc(r.Statement, func(parameter string) string {
		name, kind, _ := strings.Cut(strings.Trim(parameter, "{}"), ":")
		return "CAST('" + strings.ReplaceAll(values[name], "'", `\'`) + "' AS " + kind + ")"
	})
}

func flags(r recipes.Recipe) string {
	names := make([]string, len(r.Parameters))
	for i, p := range r.Parameters {
		names[i] = "--" + p.Name
	}
	return strings.Join(names, ", ")
}

func value(p recipes.Parameter, text string, now time.Time) (string, error) {
	if text == "" {
		text = p.Default
	}
	switch p.Kind {
	case recipes.Moment:
		if text == "" {
			return unbounded(p.Name).Format(layout), nil
		}
		t, err := moment(text, now)
		return t.Format(layout), err
	case recipes.Number:
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return "", fmt.Errorf("%q is no number from 1", text)
		}
		return strconv.FormatUint(n, 10), nil
	case recipes.Duration:
		d, err := asof.ParseDuration(text)
		if err != nil {
			return "", err
		}
		if d < time.Second || d > 100*365*24*time.Hour {
			return "", fmt.Errorf("%q is less than a second or more than 100 years", text)
		}
		return strconv.FormatInt(int64(d/time.Second), 10), nil
	case recipes.Choice:
		if !slices.Contains(p.Choices, text) {
			return "", fmt.Errorf("%q is not known: use %s", text, strings.Join(p.Choices, ", "))
		}
	}
	if p.Name == "phase" && text != "" && schemas.Phase(text).ID() == 0 {
		return "", fmt.Errorf("%q is no phase: use one of %s", text, phases())
	}
	return escape(text), nil
}

// phases are the names of all phases, for people.
func phases() string {
	var names []string
	for _, p := range schemas.Phases() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// escape writes text as ClickHouse reads parameters: as tab-separated text.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(s)
}

// unbounded is the default of a moment: before, or after, everything.
func unbounded(name string) time.Time {
	if name == "until" {
		return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
}

// moment reads a point in time, as everywhere, that the database has.
func moment(text string, now time.Time) (time.Time, error) {
	t, err := asof.ParseMoment(text, now)
	if err == nil && (t.Year() < 1970 || t.Year() > 2200) {
		err = fmt.Errorf("%q is before 1970 or after 2200", text)
	}
	return t, err
}
