package pages

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tributary/internal/config"
	"tributary/internal/notice"
	"tributary/queries/notices"
	"tributary/schemas"
)

// maxLimits bounds how many words each limit of a feed's rule has.
const maxLimits = 20

// notices is a feed of what one rule tells, which the address says as the configuration
// has it.
func (s *Site) notices(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	rule, err := feedRule(r.URL.Query())
	var found []notice.Notice
	if err == nil {
		found, err = notices.Latest(ctx, s.Past, s.Now(), rule)
	}
	var text []byte
	if err == nil {
		text, err = xml.MarshalIndent(s.noticesFeed(rule, r.URL.Query(), found), "", " ")
	}
	if err != nil {
		s.answer(w, r, page{}, http.StatusOK, err, "")
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	_, _ = w.Write([]byte(xml.Header)) // the client may be gone, which is its affair
	_, _ = w.Write(text)
}

// feedRule reads a rule from an address.
func feedRule(q url.Values) (rule config.NotifyRule, err error) {
	rule = config.NotifyRule{When: q.Get("when"), Phase: q.Get("phase"), Centres: q["centre"], Sources: q["source"], Exceptions: q["exception"]}
	bad := func(why string) (config.NotifyRule, error) {
		return rule, fmt.Errorf("%w: %s", errBadFilter, why)
	}
	switch {
	case !slices.Contains(config.NotifyKinds(), rule.When):
		return bad("when: give one of " + strings.Join(config.NotifyKinds(), ", "))
	case rule.When == config.PhaseReached && schemas.Phase(rule.Phase).ID() == 0:
		return bad("phase: name the phase that is reached")
	case rule.When != config.PhaseReached && rule.Phase != "":
		return bad("phase: it goes with when=" + config.PhaseReached)
	case len(rule.Centres) > maxLimits || len(rule.Sources) > maxLimits || len(rule.Exceptions) > maxLimits:
		return bad(fmt.Sprintf("at most %d centres, sources or exceptions are named", maxLimits))
	}
	for _, words := range [][]string{rule.Centres, rule.Sources, rule.Exceptions} {
		for _, word := range words {
			if schemas.Clean(word) != word {
				return bad("there is a name that is no text")
			}
		}
	}
	return rule, nil
}

// feeds are those of notices about a centre, a source or an exception, empty: all, and of
// files that reach a phase where one is named; none where nobody can tell of the past, or
// the past is shown.
func (s *Site) feeds(centre, source, exception, phase string) (out []option) {
	if s.Past == nil || s.then != nil {
		return nil
	}
	for _, kind := range config.NotifyKinds() {
		name, of := strings.ReplaceAll(kind, "_", " "), ""
		if kind == config.PhaseReached {
			if schemas.Phase(phase).ID() == 0 {
				continue
			}
			name, of = phase+" reached", phase
		}
		out = append(out, option{Name: name, To: s.to("/notices.xml", "when", kind, "phase", of, "centre", centre, "source", source, "exception", exception)})
	}
	return out
}

// noticesFeed is a feed of notices. Its id follows from the rule, so that it stays.
func (s *Site) noticesFeed(rule config.NotifyRule, asked url.Values, found []notice.Notice) atom {
	f := atom{ID: "urn:uuid:" + schemas.ID("notices", asked.Encode()), Title: s.Name + ": " + rule.When, Author: "Tributary", Updated: stamp(s.Now().AddDate(0, 0, -notices.Days)),
		Links: []atomLink{{"self", s.Prefix + "/notices.xml?" + asked.Encode()}, {"alternate", s.to("/notices") + "?" + asked.Encode()}}}
	if len(found) > 0 {
		f.Updated = stamp(found[0].Time)
	}
	for _, n := range found {
		e := atomEntry{ID: "urn:uuid:" + n.ID, Title: shown(n.Title), Updated: stamp(n.Time), Link: atomLink{"alternate", s.to(n.Data.Path())}}
		e.Content.Type, e.Content.Text = "text", shown(n.Data.Message)
		f.Entries = append(f.Entries, e)
	}
	return f
}
