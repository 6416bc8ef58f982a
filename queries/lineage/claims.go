package lineage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// Key tells of a natural key of a record table. The words are its values in the
// order of the key, empty for an absent one; or column=value, with absent ones
// left out. A key that nobody claims is ErrNotFound.
func (r *Reader) Key(ctx context.Context, table string, words []string) (*Lineage, error) {
	id, err := r.identity(table, words)
	if err != nil {
		return nil, err
	}
	l := &Lineage{Table: table, ID: uuid.UUID(id).String()}
	if err := r.claims(ctx, l); err != nil {
		return nil, err
	}
	if len(l.Claims) == 0 {
		return nil, fmt.Errorf("%s %s: %w: no document that was loaded claims this key", table, strings.Join(words, " "), ErrNotFound)
	}
	return l, nil
}

// identity finds out what key is meant.
func (r *Reader) identity(table string, words []string) ([16]byte, error) {
	forms := r.Mapping.Keys(table)
	named := len(words) > 0
	for _, w := range words {
		column, _, ok := strings.Cut(w, "=")
		named = named && ok && isPart(forms, column)
	}
	if !named {
		key := make([]*string, len(words))
		for i := range words {
			if words[i] != "" {
				key[i] = &words[i]
			}
		}
		return r.Mapping.Claim(table, key)
	}
	for _, form := range forms {
		if key, ok := fill(form, words); ok {
			return r.Mapping.Claim(table, key)
		}
	}
	return [16]byte{}, fmt.Errorf("no key of %s is made of %s: its keys are made of %s", table, strings.Join(words, " "), Forms(forms))
}

// fill makes a key of a form from column=value. What every key of the form has
// need not be given.
func fill(form []mapping.KeyPart, words []string) ([]*string, bool) {
	key := make([]*string, len(form))
	left := len(words)
	for i, part := range form {
		for _, w := range words {
			if column, value, _ := strings.Cut(w, "="); column == part.Column {
				if key[i] != nil {
					return nil, false // twice
				}
				left--
				key[i] = &value
			}
		}
		switch {
		case part.Word == "":
		case key[i] == nil:
			key[i] = &part.Word
		case *key[i] != part.Word:
			return nil, false
		}
	}
	return key, left == 0
}

func isPart(forms [][]mapping.KeyPart, column string) bool {
	for _, form := range forms {
		for _, part := range form {
			if part.Column == column {
				return true
			}
		}
	}
	return false
}

// Forms says in words which columns keys of these forms are made of.
func Forms(forms [][]mapping.KeyPart) string {
	texts := make([]string, len(forms))
	for i, form := range forms {
		words := make([]string, len(form))
		for j, part := range form {
			words[j] = part.Column
			if part.Word != "" {
				words[j] += "=" + part.Word
			}
		}
		texts[i] = strings.Join(words, ", ")
	}
	return strings.Join(texts, "; or of ")
}

// claims reads the claims on l.ID.
func (r *Reader) claims(ctx context.Context, l *Lineage) error {
	limit := "ALL"
	if r.Limit > 0 {
		limit = strconv.Itoa(r.Limit)
	}
	var total int64
	columns := func(c *Claim) (row pg.Rows) {
		row.Add("c.ordinal", &c.Ordinal, "c.claim::text", &c.id, "c.record_type", &c.table, "c.natural_key", &c.key, "c.line", &c.Line, "c.col", &c.Column,
			"c.byte_from", &c.ByteFrom, "c.byte_to", &c.ByteTo, "c.fingerprint::text", &c.Fingerprint, "c.content_position", &c.ContentPosition,
			"c.content_ordinal", &c.ContentOrdinal, "c.tombstone", &c.Deletes, "c.is_current", &c.isCurrent, "count(*) OVER ()", &total)
		return row
	}
	all, err := pg.List(ctx, r.Warehouse, "read claims", func(row pgx.CollectableRow) (c Claim, err error) {
		err = row.Scan(append(columns(&c).Values[0], c.Document.targets()...)...)
		c.Position = c.Document.Position
		return c, err
	}, `SELECT `+strings.Join(columns(&Claim{}).Columns, ", ")+`, `+documentColumns()+`
		FROM warehouse.claim c JOIN warehouse.document d USING (position)`+withdrawal+`
		WHERE c.claim = $1 ORDER BY d.version_key DESC, c.position DESC, c.ordinal LIMIT `+limit, l.ID)
	if err != nil {
		return err
	}
	l.Claims, l.Left = all, total-int64(len(all))
	var winner *Claim
	var docs []*Document
	for i := range l.Claims {
		c := &l.Claims[i]
		c.Document.Why = c.Document.reason()
		docs = append(docs, &c.Document)
		c.judge(winner)
		if winner == nil && !c.Document.Withdrawn {
			winner = c
		}
	}
	if len(all) > 0 {
		l.Key = r.parts(l.Table, all[0].key)
	}
	return r.when(ctx, docs...)
}

// judge says how a claim stands, given the greatest that is not withdrawn, if
// that is a greater one.
func (c *Claim) judge(winner *Claim) {
	switch {
	case c.Document.Withdrawn:
		c.State, c.Why = Withdrawn, c.Document.Why
	case winner != nil && winner.Deletes:
		c.State, c.Why = Superseded, "deleted by "+winner.Place()+" ("+winner.Document.Action+"/"+winner.Document.File+"), which is greater: "+greater(winner.Document, c.Document)
	case winner != nil:
		c.State, c.Why = Superseded, "superseded by "+winner.Place()+" ("+winner.Document.Action+"/"+winner.Document.File+"), which is greater: "+greater(winner.Document, c.Document)
	case c.Deletes:
		c.State, c.Why = Tombstone, "the greatest claim that is not withdrawn says that the key is gone, so nothing is current"
	default:
		c.State, c.Why = Current, "the greatest claim that is not withdrawn"
	}
	if (c.State == Current) != c.isCurrent {
		c.Why += "; but the warehouse marks it otherwise, which should not be"
	}
}

// greater says what makes a document's version key greater than another's: the
// first of its parts in which they differ.
func greater(a, b Document) string {
	later := func(what, x, y string) string { return fmt.Sprintf("%s %s comes after %s", what, x, y) }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case a.FileDate != b.FileDate:
		return later("its file's date", a.FileDate, b.FileDate)
	case a.FileInc != b.FileInc:
		return later("its file's increment", number(a.FileInc), number(b.FileInc))
	case a.DocDate != b.DocDate:
		return later("its document's date", a.DocDate, b.DocDate)
	case a.DocInc != b.DocInc:
		return later("its document's increment", number(a.DocInc), number(b.DocInc))
	case a.Action != b.Action:
		return later("its action", a.Action, b.Action)
	case a.File != b.File:
		return later("its file's name", a.File, b.File)
	case a.Entry != b.Entry:
		return later("its document's name", a.Entry, b.Entry)
	case a.rank != b.rank:
		return "it is of a later version of the file"
	case a.Run != b.Run:
		return "it is of a later run"
	}
	return "it came later in the order"
}

// parts names the values of a key. The form is the one whose words it has.
func (r *Reader) parts(table string, key []*string) []Part {
	out := make([]Part, len(key))
	for i, v := range key {
		out[i] = Part{Column: strconv.Itoa(i + 1), Value: v}
	}
	for _, form := range r.Mapping.Keys(table) {
		fits := len(form) == len(key)
		for i := range form {
			fits = fits && (form[i].Word == "" || key[i] != nil && *key[i] == form[i].Word)
		}
		if fits {
			for i := range form {
				out[i].Column = form[i].Column
			}
			break
		}
	}
	return out
}
