package pages

import (
	"context"
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"tributary/queries/own"
	"tributary/schemas"
)

// atom is a feed (RFC 4287). Its ids depend on centre and week alone, so that they stay
// when a link is replaced, and don't give it away.
type atom struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Content struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	} `xml:"content"`
}

// ownFeed is the summaries of the centre's weeks that have ended.
func (s *Site) ownFeed(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	at, err := s.ownOf(r)
	if err != nil {
		s.own(s.ownNothing).ServeHTTP(w, r)
		return
	}
	feed, err := at.feed(ctx)
	var text []byte
	if err == nil {
		text, err = xml.MarshalIndent(feed, "", " ")
	}
	if err != nil {
		s.own(func(context.Context, ownAt, *http.Request) (ownPage, error) { return ownPage{}, err }).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	_, _ = w.Write([]byte(xml.Header)) // the client may be gone, which is its affair
	_, _ = w.Write(text)
}

func (at ownAt) feed(ctx context.Context) (atom, error) {
	weeks, err := at.Ended(ctx)
	if err != nil {
		return atom{}, err
	}
	f := atom{ID: "urn:uuid:" + schemas.ID("centre-weeks", at.Centre), Title: at.Centre + ": your files, week by week", Author: "Tributary", Updated: stamp(own.Monday(at.Now)),
		Links: []atomLink{{"self", at.to("/feed.xml")}, {"alternate", at.to("")}}}
	for _, week := range weeks {
		name := own.Name(week.From)
		e := atomEntry{ID: "urn:uuid:" + schemas.ID("centre-week", at.Centre, name), Title: name + ": " + week.Title(), Updated: stamp(week.Until), Link: atomLink{"alternate", at.to("/weeks/" + name)}}
		var b strings.Builder
		if err := week.WriteText(&b); err != nil {
			return atom{}, err
		}
		e.Content.Type, e.Content.Text = "text", b.String()
		f.Entries = append(f.Entries, e)
	}
	return f, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
