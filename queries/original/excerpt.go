package original

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tributary/internal/document"
	"tributary/internal/xmlsource"
)

const (
	// around is how many lines are shown before a place, and as many behind it.
	around = 3
	// wide is how much of a line is shown, in bytes of UTF-8, and lead how much of that
	// stands before the place.
	wide, lead = 300, 100
	// maxPlaces bounds the places of one question, and with it what is kept in memory.
	maxPlaces = 200
)

// Place is a place in a document, as errors name it: both count from 1, columns in
// bytes of the document's UTF-8 form.
type Place struct{ Line, Column int }

// Line is a line of a document, or a part of it. It may have any characters: who shows
// it must escape them.
type Line struct {
	Number int  `json:"number"`
	Hit    bool `json:"hit,omitempty" doc:"it is the line of the place"`
	// The text: At is what stands at the place, a tag or a word.
	Before string `json:"before"`
	At     string `json:"at,omitempty" doc:"what stands at the place: a tag or a word"`
	After  string `json:"after,omitempty"`
	// More of the line stands before, and behind.
	Begun bool `json:"begun,omitempty" doc:"more of the line stands before"`
	Goes  bool `json:"goes,omitempty" doc:"more of the line stands behind"`
}

// Excerpts are the lines around places of a document: for each place its own, in the
// order in which they were asked for, no more than 200 places; none where the document
// doesn't reach the place. A document of more than most bytes is ErrTooLarge; one whose
// encoding can't be read has lines as far as it can. Words says errors to people.
func (r *Reader) Excerpts(ctx context.Context, d Document, most int64, places []Place) ([][]Line, error) {
	ref, err := r.locate(ctx, d)
	if err != nil {
		return nil, err
	}
	if ref.Size > most {
		return nil, fmt.Errorf("%d bytes: %w", ref.Size, ErrTooLarge)
	}
	places = places[:min(len(places), maxPlaces)]
	views := make([][]*view, len(places))
	var all []*view
	for i, p := range places {
		views[i] = viewsOf(p)
		all = append(all, views[i]...)
	}
	if err := document.Read(ctx, r.Blobs, ref, nil, func(in io.Reader) error { return see(in, all) }); err != nil {
		return nil, err
	}
	out := make([][]Line, len(places))
	for i := range views {
		if !slices.ContainsFunc(views[i], func(v *view) bool { return v.hit && v.met }) {
			continue
		}
		for _, v := range views[i] {
			if v.met {
				out[i] = append(out[i], v.shown())
			}
		}
	}
	return out, nil
}

// view is what is to be seen of a line: bytes from on, wide of them at most.
type view struct {
	line     int
	hit      bool
	from, at int64 // at is the place, where hit
	text     []byte
	met      bool // the document has the line
	goes     bool // it goes on behind text
}

func viewsOf(p Place) []*view {
	if p.Line < 1 {
		return nil
	}
	var out []*view
	for n := max(1, p.Line-around); n <= p.Line+around; n++ {
		v := &view{line: n, hit: n == p.Line}
		if v.hit {
			v.at = int64(max(p.Column, 1)) - 1
			if v.at >= wide-lead {
				v.from = v.at - lead
			}
		}
		out = append(out, v)
	}
	return out
}

// see reads a document as far as it is to be seen.
func see(in io.Reader, views []*view) error {
	views = slices.Clone(views)
	slices.SortStableFunc(views, func(a, b *view) int { return a.line - b.line })
	var encoding *xmlsource.EncodingError
	utf8, err := xmlsource.Reader(in)
	if errors.As(err, &encoding) {
		return nil
	}
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(utf8, 32<<10)
	for line, at := 1, int64(0); len(views) > 0; {
		piece, err := r.ReadSlice('\n')
		text := piece
		if err == nil {
			text = bytes.TrimSuffix(piece[:len(piece)-1], []byte("\r"))
		}
		for _, v := range views {
			if v.line > line {
				break
			}
			if len(piece) > 0 || v.hit {
				v.add(at, text)
			}
		}
		switch {
		case err == nil:
			line, at = line+1, 0
			for len(views) > 0 && views[0].line < line {
				views = views[1:]
			}
		case errors.Is(err, bufio.ErrBufferFull):
			at += int64(len(piece))
		case errors.Is(err, io.EOF), errors.As(err, &encoding):
			return nil
		default:
			return err
		}
	}
	return nil
}

// add takes what is to be seen of a piece of the line that begins at an offset of it.
func (v *view) add(at int64, piece []byte) {
	v.met = true
	from, to := max(v.from-at, 0), min(v.from+wide-at, int64(len(piece)))
	if from < to {
		v.text = append(v.text, piece[from:to]...)
	}
	v.goes = v.goes || at+int64(len(piece)) > v.from+wide
}

// shown is the line as it is shown, cut between characters.
func (v *view) shown() Line {
	text, at := v.text, v.at-v.from
	if v.from > 0 {
		for len(text) > 0 && at > 0 && !utf8.RuneStart(text[0]) {
			text, at = text[1:], at-1
		}
	}
	if v.goes {
		for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
			if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	l := Line{Number: v.line, Hit: v.hit, Begun: v.from > 0, Goes: v.goes}
	if !v.hit || at >= int64(len(text)) {
		l.Before = valid(text)
		return l
	}
	end := at + int64(token(text[at:]))
	l.Before, l.At, l.After = valid(text[:at]), valid(text[at:end]), valid(text[end:])
	return l
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// token is the length of what a text begins with: a tag, or else a word.
func token(text []byte) int {
	n := len(text)
	if text[0] == '<' {
		if i := bytes.IndexByte(text, '>'); i >= 0 {
			return i + 1
		}
		return n
	}
	if i := bytes.IndexAny(text[1:], " \t\"'<>="); i >= 0 {
		return i + 1
	}
	return n
}
