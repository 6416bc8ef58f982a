package http

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"tributary/internal/remote"
)

// indexed is an entry as an index page shows it.
type indexed struct {
	remote.Entry
	// exact: size and time are as the file has them.
	exact bool
	// shown and step are a size that is rounded, and one in its last place; a step
	// of 0: no size is shown.
	shown, step float64
}

// about tells whether a size may be the one that is shown.
func (e indexed) about(size int64) bool {
	if e.Size >= 0 || e.step == 0 {
		return e.Size == size
	}
	return size >= 0 && math.Abs(float64(size)-e.shown) <= e.step
}

// indexPage is the index of a directory while it is read: each gets its entries.
type indexPage struct {
	at         *url.URL
	body       *IndexBody
	unmeasured bool // nothing but the page tells whether it is whole
	each       func(indexed) error

	row    indexed // under way; without a name there is none
	text   strings.Builder
	inRow  bool // of a table
	inLink bool
	title  bool // what comes is the title
	found  bool // an entry, or what only an index has
	ended  bool // as a page does
}

// readHTML reads the page tag by tag. A row is what stands between two ends of
// lines, or in one row of a table: a link, and beside it a time and a size.
func (p *indexPage) readHTML() error {
	z := html.NewTokenizer(p.body)
	z.SetMaxBuf(maxMarkup)
	times, sizes := timeInIndex(), sizeInIndex()
	flush := func() error {
		row, text := p.row, strings.Join(strings.Fields(p.text.String()), " ")
		p.row = indexed{}
		p.text.Reset()
		if row.Name == "" {
			return nil
		}
		row.read(text, times, sizes)
		return p.each(row)
	}
	for {
		kind := z.Next()
		var err error
		switch kind {
		case html.ErrorToken:
			return errors.Join(flush(), p.end(z.Err()))
		case html.TextToken:
			err = p.textIs(string(z.Text()), flush)
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			err = p.tag(z, kind, flush)
		}
		if err != nil {
			return err
		}
	}
}

// end says whether the page was one, and whole.
func (p *indexPage) end(err error) error {
	switch {
	case p.body.Err != nil:
		return p.body.Err
	case errors.Is(err, html.ErrBufferExceeded):
		return noIndex("a tag or text in it is longer than %d bytes", maxMarkup)
	case !errors.Is(err, io.EOF):
		return err
	case p.unmeasured && !p.ended:
		return &remote.Error{Class: remote.Connection, Err: errors.New("the connection ended within the index page")}
	case !p.found:
		return noIndex("it has no link into the directory, nor one to the directory above")
	}
	return nil
}

func (p *indexPage) textIs(text string, flush func() error) error {
	switch {
	case p.title:
		text = strings.ToLower(strings.TrimSpace(text))
		p.found = p.found || strings.HasPrefix(text, "index of") || strings.HasPrefix(text, "directory listing")
		return nil
	case p.inLink:
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 && !p.inRow {
			if err := flush(); err != nil {
				return err
			}
		}
		if room := maxRow - p.text.Len(); room > 0 {
			p.text.WriteString(line[:min(len(line), room)])
			p.text.WriteByte(' ')
		}
	}
	return nil
}

func (p *indexPage) tag(z *html.Tokenizer, kind html.TokenType, flush func() error) error {
	raw, more := z.TagName()
	name, closes := string(raw), kind == html.EndTagToken
	switch name {
	case "title":
		p.title = !closes
	case "html", "body":
		p.ended = p.ended || closes
	case "a":
		p.inLink = !closes
		for more && !closes {
			var key, value []byte
			key, value, more = z.TagAttr()
			if string(key) == "href" {
				return p.link(string(value), flush)
			}
		}
	case "tr":
		p.inRow = !closes
		return flush()
	case "table":
		p.inRow = false
		return flush()
	case "br", "li", "hr", "p", "div", "pre", "ul":
		if !p.inRow {
			return flush()
		}
	case "td", "th":
		p.text.WriteByte(' ')
	}
	return nil
}

// link takes a link: it begins a row, unless it leads to what the row is about.
func (p *indexPage) link(to string, flush func() error) error {
	name, kind, ok := child(p.at, to)
	if !ok {
		up, err := p.at.Parse(to)
		p.found = p.found || err == nil && sameOrigin(up, p.at) && p.at.Path != "/" && up.Path == p.at.JoinPath("..").JoinPath("/").Path
		return nil
	}
	p.found = true
	if p.row.Name == name {
		return nil
	}
	if p.row.Name != "" {
		if err := flush(); err != nil {
			return err
		}
	}
	p.row.Entry = remote.Entry{Name: strings.Clone(name), Size: -1, Kind: kind}
	return nil
}

// timeInIndex finds a time as Apache (2024-02-29 23:59), nginx (29-Feb-2024 23:59),
// lighttpd (2024-Feb-29 23:59:58) and IIS (2/29/2024 11:59 PM) write it.
func timeInIndex() *regexp.Regexp {
	return regexp.MustCompile(`\d{4}-(?:\d\d|[A-Z][a-z]{2})-\d\d[ T]\d\d:\d\d(?::\d\d)?|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d(?::\d\d)?|\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d [AP]M`)
}

// sizeInIndex finds a number, of bytes or of what the letter says.
func sizeInIndex() *regexp.Regexp {
	return regexp.MustCompile(`(?:^| )(\d+(?:\.\d+)?) ?([KMGTP]?)(?:i?B)?(?: |$)`)
}

// read reads size and time from the text beside the link. The size of a directory tells
// nothing.
func (e *indexed) read(text string, times, sizes *regexp.Regexp) {
	if e.Kind == remote.Other {
		return
	}
	where := times.FindStringIndex(text)
	if where == nil {
		return // without a time beside it a number may be anything
	}
	at := text[where[0]:where[1]]
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "02-Jan-2006 15:04", "2006-Jan-02 15:04", "1/2/2006 3:04 PM"} {
		if t, err := time.Parse(layout, at); err == nil {
			e.ModTime, e.Precision = t, time.Minute
		}
		if t, err := time.Parse(layout+":05", at); err == nil {
			e.ModTime, e.Precision = t, time.Second
		}
	}
	size := sizes.FindStringSubmatch(text[where[1]:])
	if size == nil || e.Kind == remote.Dir {
		return
	}
	if n, err := strconv.ParseInt(size[1], 10, 64); err == nil && size[2] == "" {
		e.Size = n
		return
	}
	n, err := strconv.ParseFloat(size[1], 64)
	if err != nil {
		return
	}
	unit := math.Pow(1024, float64(1+strings.Index("KMGTP", size[2])))
	if size[2] == "" {
		unit = 1
	}
	_, places, _ := strings.Cut(size[1], ".")
	e.shown, e.step = n*unit, unit/math.Pow(10, float64(len(places)))
}

// readJSON reads an index as nginx writes it with autoindex_format json, which has
// everything exactly.
func (p *indexPage) readJSON() error {
	in := &sipped{body: p.body}
	d := json.NewDecoder(in)
	err := p.entries(d, in)
	switch {
	case err == nil:
		return nil
	case p.body.Err != nil:
		return p.body.Err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &remote.Error{Class: remote.Connection, Err: errors.New("the connection ended within the index page")}
	case errors.As(err, new(*remote.Error)):
		return err
	}
	return noIndex("%w", err)
}

func (p *indexPage) entries(d *json.Decoder, in *sipped) error {
	in.more()
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.Join(err, noIndex("it is JSON, but no list"))
	}
	for d.More() {
		in.more()
		var shown struct {
			Name  json.RawMessage `json:"name"`
			Type  string          `json:"type"`
			MTime string          `json:"mtime"`
			Size  *int64          `json:"size"`
		}
		if err := d.Decode(&shown); err != nil {
			return err
		}
		e := indexed{Entry: remote.Entry{Size: -1, Kind: remote.Other}, exact: true}
		// What is no UTF-8 is no JSON: the name is a guess, which nobody can ask for.
		if err := json.Unmarshal(shown.Name, &e.Name); err != nil || e.Name == "" {
			return noIndex("an entry in it has no name")
		}
		switch {
		case !utf8.Valid(shown.Name) || !remote.SafeName(e.Name):
		case shown.Type == "directory":
			e.Kind = remote.Dir
			e.timeIs(shown.MTime)
		case shown.Type == "file" && shown.Size != nil:
			e.Kind, e.Size = remote.File, *shown.Size
			e.timeIs(shown.MTime)
		}
		if err := p.each(e); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// timeIs takes a time as JSON indexes write it; what is none leaves the entry without.
func (e *indexed) timeIs(text string) {
	if t, err := time.Parse(time.RFC1123, text); err == nil {
		e.ModTime, e.Precision = t.UTC(), time.Second
	}
}

// sipped lets a decoder read no more at a time than an entry may be long.
type sipped struct {
	body io.Reader
	left int
}

// more says that the next entry begins.
func (s *sipped) more() { s.left = maxMarkup }

// Read reads on, unless an entry is too long.
func (s *sipped) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, noIndex("an entry in it is longer than %d bytes", maxMarkup)
	}
	n, err := s.body.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// maxRow is how much of the text beside a link is looked at for a size and a
// time. It is fixed: a row of an index is shorter.
const maxRow = 1 << 10
