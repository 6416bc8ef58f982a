// Package verification words what comparing a projection with the log has found.
package verification

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"tributary/consumers/tracker"
	"tributary/internal/screen"
	"tributary/queries/report"
)

// WriteTracker writes what a verification of the tracker has found, for people.
func WriteTracker(w io.Writer, v tracker.Verification) error {
	rows := make([][]string, 0, len(v.Tables))
	for _, t := range v.Tables {
		verdict := "equal"
		if !t.Equal {
			verdict = "differs"
		}
		rows = append(rows, []string{t.Table, strconv.FormatInt(t.Rows, 10), strconv.FormatInt(t.Rebuilt, 10), t.Hash[:16], verdict})
	}
	if err := report.WriteTable(w, []string{"TABLE", "TRACKER", "LOG", "HASH", "RESULT"}, rows); err != nil {
		return err
	}
	for _, d := range v.Differences {
		if _, err := fmt.Fprintf(w, "\n%s %s: %s\n", d.Table, d.Key, meaning(d.Kind)); err != nil {
			return err
		}
		for _, col := range d.Columns {
			if _, err := fmt.Fprintf(w, "  %s: tracker %s, log %s\n", col.Column, shownValue(col.Tracker), shownValue(col.Log)); err != nil {
				return err
			}
		}
	}
	var err error
	switch more := v.Differ - int64(len(v.Differences)); {
	case v.Differ == 0:
		_, err = fmt.Fprintf(w, "the tracker is what the log says: %d records of %d partitions\n", v.Records, len(v.Offsets))
	case more > 0:
		_, err = fmt.Fprintf(w, "\n%d differences, %d more than listed (see --differences); tributary tracker rebuild puts them right\n", v.Differ, more)
	default:
		_, err = fmt.Fprintf(w, "\n%d differences; tributary tracker rebuild puts them right\n", v.Differ)
	}
	return err
}

func meaning(kind string) string {
	switch kind {
	case tracker.Missing:
		return "the tracker lacks it"
	case tracker.Extra:
		return "the log says nothing of it"
	case tracker.Columns:
		return "the table has other columns"
	}
	return "differs"
}

// shownValue is a column's text for people: plain, and not endless.
func shownValue(text *string) string {
	const most = 200
	if text == nil {
		return "null"
	}
	plain := screen.Line(*text)
	if runes := []rune(plain); len(runes) > most {
		plain = string(runes[:most]) + "…"
	}
	return strings.TrimSpace(strconv.Quote(plain))
}
