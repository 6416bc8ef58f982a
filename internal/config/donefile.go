package config

import (
	"strings"

	"tributary/schemas"
)

// maxDoneFile bounds what the name of a done-file has beyond the file's, in bytes: names
// stay shorter than servers allow.
const maxDoneFile = 100

// DoneFileOf is the name of the done-file that a source's file waits for; empty: of none.
func (s Source) DoneFileOf(name string) string {
	before, after, found := strings.Cut(s.DoneFile, "*")
	if !found {
		return ""
	}
	return before + name[:max(0, len(name)-len(".zip"))] + after
}

// checkDoneFile looks at which file beside another says that this is whole.
func (d *decoder) checkDoneFile(s *Source, at string) {
	if s.DoneFile == "" {
		return
	}
	done, err := s.Done()
	switch {
	case strings.Count(s.DoneFile, "*") != 1 || strings.Contains(s.DoneFile, "/"):
		d.problem(at, "%q names no file beside another: write one * for the name of the file without .zip, such as *.done or *.zip.done", s.DoneFile)
	case strings.HasSuffix(strings.ToLower(s.DoneFile), ".zip"):
		d.problem(at, "%q would be a file to be taken itself: choose a name that doesn't end in .zip", s.DoneFile)
	case s.DoneFile == "*":
		d.problem(at, "%q would be the name of the file without its end: add what the other's name has", s.DoneFile)
	case len(s.DoneFile) > maxDoneFile || schemas.Clean(s.DoneFile) != s.DoneFile:
		d.problem(at, "is longer than %d bytes, or has characters that can't be shown", maxDoneFile)
	case s.Feed != "":
		d.problem(at, "is shown by no feed, which has files alone: take one of them out")
	case err == nil && done.Act == DoneMark && s.DoneFileOf("a.zip") == done.Target("a.zip"):
		d.problem(at, "%q is what done_with marks files with that are inserted: choose another for one of them", s.DoneFile)
	}
}
