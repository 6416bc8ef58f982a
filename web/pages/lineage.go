package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"tributary/queries/explained"
	"tributary/queries/lineage"
	"tributary/web/filter"
)

// maxKey is how long a natural key that is asked for may be, in bytes, and excerptLines
// how many lines of a record are shown.
const maxKey, excerptLines = 4 << 10, 20

// lineagePage is where a record of the warehouse comes from.
type lineagePage struct {
	Tables     []recordTable
	Table, Key string // that were asked for, the key with one value a line
	Wrong      string // why there is no answer
	Lead       *lead  // nil: nothing was asked
	Told       *lineage.Lineage
	KeyText    string
	RowState   string // of the claim that the row lies under; empty: it lies under none, or that is not listed
	Claims     []claim
	Document   *claim // of a row that lies under no record
	Compare    string // the address that compares what is told with the stored bytes; empty: it was, or can't be
	Compared   string // why it was not
}

// recordTable is a table of records, and what its keys are made of.
type recordTable struct{ Name, Keys string }

// claim is a claim on the key with its document, or a document alone.
type claim struct {
	lineage.Claim

	Anchor, DocumentTo, FileTo, SourceTo, SessionTo string
	Excerpt                                         []excerptLine
	Cut                                             bool // the excerpt is the beginning
}

type excerptLine struct {
	Number int
	Text   string
}

func (s *Site) lineagePage(ctx context.Context, r *http.Request) (page, error) {
	reader := s.lineage(heldClaims)
	if reader == nil {
		return page{}, errNotHere
	}
	q := r.URL.Query()
	d := lineagePage{Table: q.Get("table"), Key: q.Get("key")}
	for _, t := range s.Mapping.Records() {
		d.Tables = append(d.Tables, recordTable{t.Name, lineage.Forms(s.Mapping.Keys(t.Name))})
	}
	p := page{Title: "Lineage", At: "/lineage", Template: "lineage", Command: "tributary lineage TABLE KEY…"}
	if position := r.PathValue("position"); position != "" {
		place := position + "/" + r.PathValue("ordinal")
		at, ordinal, ok := lineage.ParsePlace(place)
		if !ok {
			return page{}, errNoPage
		}
		l, err := reader.Row(ctx, "", at, ordinal)
		if errors.Is(err, lineage.ErrNotFound) {
			return page{}, fmt.Errorf("%w: %w", errNoPage, err)
		}
		if err != nil {
			return page{}, err
		}
		p.Title, p.Command, d.Told = "Lineage of "+place, "tributary lineage "+place, l
	} else if d.Table != "" || d.Key != "" {
		words, err := keyWords(d.Table, d.Key)
		if err != nil {
			return page{}, err
		}
		p.Command = "tributary lineage " + filter.Quoted(d.Table)
		for _, w := range words {
			p.Command += " " + cmp.Or(filter.Quoted(w), "''")
		}
		if d.Told, err = reader.Key(ctx, d.Table, words); err != nil {
			d.Wrong = err.Error()
		}
	}
	if d.Told != nil {
		s.tellLineage(ctx, r, reader, &d)
	}
	p.Command, p.Data = shown(p.Command), d
	return p, nil
}

// keyWords are the values of a key, which stand one on each line.
func keyWords(table, key string) ([]string, error) {
	if len(table)+len(key) > maxKey || !utf8.ValidString(table+key) || strings.Contains(table+key, "\x00") {
		return nil, fmt.Errorf("%w: table and key have %d bytes at most, and are text", errBadFilter, maxKey)
	}
	return strings.Split(strings.TrimRight(strings.ReplaceAll(key, "\r\n", "\n"), "\n"), "\n"), nil
}

// tellLineage arranges what is told, and compares it with the stored bytes if the
// address says so.
func (s *Site) tellLineage(ctx context.Context, r *http.Request, reader *lineage.Reader, d *lineagePage) {
	l := d.Told
	d.KeyText = keyText(l.Key)
	if s.Originals != nil {
		if r.URL.Query().Get("compare") != "" {
			d.Compared = s.compare(ctx, reader, l)
		} else {
			query := url.Values{"compare": {"true"}}
			for name, value := range map[string]string{"table": d.Table, "key": d.Key} {
				if value != "" {
					query.Set(name, value)
				}
			}
			d.Compare = s.Prefix + r.URL.EscapedPath() + "?" + query.Encode()
		}
	}
	d.Lead, d.RowState = lineageLead(l), rowState(l)
	for _, c := range l.Claims {
		d.Claims = append(d.Claims, s.newClaim(c))
	}
	if l.Document != nil {
		c := s.newClaim(lineage.Claim{Position: l.Document.Position, Document: *l.Document, Verification: l.Verification})
		d.Document = &c
	}
}

// compare reads the documents of the claims again, and says why it did not.
func (s *Site) compare(ctx context.Context, reader *lineage.Reader, l *lineage.Lineage) string {
	bytes := int64(0)
	for _, c := range l.Claims {
		bytes += c.Document.Size
	}
	if l.Document != nil {
		bytes += l.Document.Size
	}
	if bytes > explained.MostRead {
		return "The documents are too large to be read for a page; the command line reads them (--verify)."
	}
	done, err := s.explainer.Turn(ctx)
	if err == nil {
		defer done()
		_, err = reader.VerifyAll(ctx, s.Originals.Blobs, l)
	}
	if err != nil {
		s.Log.Debug("stored bytes can't be compared", "error", err)
		return explained.Unseen(err)
	}
	return ""
}

// rowState is how the claim stands under which the row lies that was asked for.
func rowState(l *lineage.Lineage) string {
	for _, c := range l.Claims {
		if l.Row != nil && c.Position == l.Row.Position && c.Ordinal == l.Row.Record {
			return c.State
		}
	}
	return ""
}

// lineageLead says what holds now.
func lineageLead(l *lineage.Lineage) *lead {
	for _, c := range l.Claims {
		switch c.State {
		case lineage.Withdrawn:
			continue
		case lineage.Tombstone:
			return &lead{"cancelled", "The key is deleted, by " + c.Document.Action + "/" + c.Document.File + ".", "#" + anchor(c)}
		}
		if state := rowState(l); state == lineage.Superseded || state == lineage.Withdrawn {
			return &lead{"cancelled", "This row is " + state + ": what holds is in " + c.Document.Action + "/" + c.Document.File + ".", "#" + anchor(c)}
		}
		return &lead{"done", "It holds as " + c.Document.Action + "/" + c.Document.File + " says.", "#" + anchor(c)}
	}
	if l.Document != nil {
		return &lead{"done", "It is a row of the document itself, and lies under no record.", ""}
	}
	return &lead{"cancelled", "Nothing holds: every document that claims this key is withdrawn.", ""}
}

func anchor(c lineage.Claim) string { return fmt.Sprintf("c-%d-%d", c.Position, c.Ordinal) }

func (s *Site) newClaim(c lineage.Claim) claim {
	d := c.Document
	out := claim{Claim: c, Anchor: anchor(c), DocumentTo: s.fileTo(d.Action, d.File, "documents", d.Entry), FileTo: s.fileTo(d.Action, d.File), SourceTo: s.sourceAt(d.Source)}
	if d.SessionNumber != nil {
		out.SessionTo = s.to("/sessions/" + strconv.FormatInt(*d.SessionNumber, 10))
	}
	if c.Verification != nil && c.Verification.Excerpt != "" {
		for i, text := range strings.Split(c.Verification.Excerpt, "\n") {
			if i == excerptLines {
				out.Cut = true
				break
			}
			out.Excerpt = append(out.Excerpt, excerptLine{c.Line + i, cutText(strings.TrimSuffix(text, "\r"), excerptWide)})
		}
	}
	return out
}

// excerptWide is how much of a line of a record is shown, in bytes.
const excerptWide = 300

// cutText is the beginning of a text, between characters.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
