package ftp

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

// parseMachine parses a line of MLSD (RFC 3659): "fact=value;…; name".
func parseMachine(line string, _ time.Time) (remote.Entry, bool) {
	facts, name, ok := strings.Cut(line, " ")
	if !ok || name == "" || !strings.HasSuffix(facts, ";") {
		return remote.Entry{}, false
	}
	e := remote.Entry{Name: name, Size: -1, Kind: remote.Other}
	for _, fact := range strings.Split(strings.TrimSuffix(facts, ";"), ";") {
		key, value, ok := strings.Cut(fact, "=")
		if !ok {
			return remote.Entry{}, false
		}
		switch strings.ToLower(key) {
		case "type":
			switch strings.ToLower(value) {
			case "file":
				e.Kind = remote.File
			case "dir":
				e.Kind = remote.Dir
			case "cdir", "pdir":
				e.Name, e.Kind = ".", remote.Dir
			}
		case "size":
			setSize(&e, value)
		case "modify":
			setTime(&e, value)
		}
	}
	return e, true
}

// setSize reads a size as the server writes it.
func setSize(e *remote.Entry, text string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		e.Size = -1
		e.WrongValue("the size %q is no number of bytes from 0 to %d", text, int64(math.MaxInt64))
		return
	}
	e.Size = n
}

// setTime reads a time as MLSD and MDTM write it (RFC 3659).
func setTime(e *remote.Entry, text string) {
	whole, _, _ := strings.Cut(text, ".")
	t, err := time.Parse("20060102150405", whole)
	if err != nil {
		e.WrongValue("the time %q is not in the calendar as YYYYMMDDhhmmss", text)
		return
	}
	e.ModTime, e.Precision = t, time.Second
}

// parseUnixOrDOS parses a line of LIST: what ls -l prints, or what DIR does.
func parseUnixOrDOS(line string, now time.Time) (remote.Entry, bool) {
	if e, ok := parseUnix(line, now); ok {
		return e, true
	}
	return parseDOS(line, now.Location())
}

// field cuts the first word off s. Names may begin with blanks, so only what
// stands before a word is skipped.
func field(s string) (word, rest string) {
	s = strings.TrimLeft(s, " ")
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// parseUnix finds the date, since groups may hold blanks or be missing: the
// word before it is the size.
func parseUnix(line string, now time.Time) (remote.Entry, bool) {
	mode, rest := field(line)
	if len(mode) < 10 || len(mode) > 11 || !strings.ContainsRune("-dlbcpsD", rune(mode[0])) || line[0] == ' ' {
		return remote.Entry{}, false
	}
	size, seen := "", 0
	for rest != "" {
		word, after := field(rest)
		if seen >= 2 && isMonth(word) {
			day, afterDay := field(after)
			clock, name := field(afterDay)
			t, precision, ok := unixTime(word, day, clock, now)
			if (ok || isDate(day, clock)) && len(name) > 1 {
				e := remote.Entry{Name: name[1:], Size: -1, ModTime: t.UTC(), Precision: precision, Yearless: ok && precision == time.Minute, Kind: remote.Other}
				if !ok {
					e.WrongValue("the time %q is not in the calendar", word+" "+day+" "+clock)
				}
				return e, unixKind(&e, mode[0], size)
			}
		}
		size, rest = word, after
		seen++
	}
	return remote.Entry{}, false
}

// unixKind reads what depends on the first letter of the mode.
func unixKind(e *remote.Entry, kind byte, size string) bool {
	switch kind {
	case '-':
		if strings.Trim(size, "-0123456789") != "" || size == "" {
			return false
		}
		setSize(e, size)
		e.Kind = remote.File
	case 'd':
		e.Kind = remote.Dir
	case 'l':
		e.Name, _, _ = strings.Cut(e.Name, " -> ")
	}
	return e.Name != ""
}

// isDate tells a day and a year or clock, though none of the calendar, from
// other words.
func isDate(day, clock string) bool {
	return day != "" && len(day) <= 2 && clock != "" && strings.Trim(day, "0123456789") == "" && strings.Trim(clock, "0123456789:") == ""
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

func isMonth(s string) bool {
	return len(s) == 3 && strings.Index(months, s)%3 == 0
}

// unixTime reads "Mar 4 15:04" and "Mar 4 2006". The first form has no year:
// it is the latest that isn't in the future, with a day of grace for clocks
// and zones that differ.
func unixTime(month, day, clock string, now time.Time) (time.Time, time.Duration, bool) {
	if strings.Contains(clock, ":") {
		for year := now.Year() + 1; year > now.Year()-9; year-- {
			// The year is part of what is parsed, for the 29th of February.
			t, err := time.ParseInLocation("2006 Jan 2 15:04", strconv.Itoa(year)+" "+month+" "+day+" "+clock, now.Location())
			if err == nil && !t.After(now.AddDate(0, 0, 1)) {
				return t, time.Minute, true
			}
		}
		return time.Time{}, 0, false
	}
	t, err := time.ParseInLocation("2006 Jan 2", clock+" "+month+" "+day, now.Location())
	return t, 24 * time.Hour, err == nil
}

func parseDOS(line string, loc *time.Location) (remote.Entry, bool) {
	for _, layout := range [...]string{"01-02-06  03:04PM", "2006-01-02  15:04", "01-02-2006  03:04PM", "01-02-2006  15:04"} {
		if len(line) <= len(layout) {
			continue
		}
		t, err := time.ParseInLocation(layout, line[:len(layout)], loc)
		if err != nil {
			continue
		}
		what, name := field(line[len(layout):])
		e := remote.Entry{Size: -1, ModTime: t.UTC(), Precision: time.Minute}
		if what == "<DIR>" {
			e.Kind, e.Name = remote.Dir, strings.TrimLeft(name, " ")
			return e, e.Name != ""
		}
		n, err := strconv.ParseInt(what, 10, 64)
		if err != nil || n < 0 || len(name) < 2 {
			return remote.Entry{}, false
		}
		e.Size, e.Kind, e.Name = n, remote.File, name[1:]
		return e, true
	}
	return remote.Entry{}, false
}
