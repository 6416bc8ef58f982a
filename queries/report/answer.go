package report

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
)

// Limits of an Answer: cells of others are as long as they like.
const (
	maxCell   = 2 << 10 // bytes of a value that are kept
	maxAnswer = 4 << 20 // bytes of all values
)

// Answer is the beginning of what a statement answers, as texts, for who shows it.
type Answer struct {
	Columns []AnswerColumn `json:"columns"`
	Rows    [][]string     `json:"rows"`
	More    bool           `json:"more"` // there are more rows than these
}

// AnswerColumn is one of an answer's columns.
type AnswerColumn struct {
	Name   string `json:"name"`
	Number bool   `json:"number"` // its values are numbers
}

// errEnough ends a statement whose answer is long enough.
var errEnough = errors.New("enough rows")

// Ask runs one reading statement on a store, as SQL does, for its first rows: at most
// so many, and no more than 4 MiB of values. The statement ends with them.
func Ask(ctx context.Context, store Store, statement string, most int) (Answer, error) {
	a := Answer{Columns: []AnswerColumn{}, Rows: [][]string{}}
	statement, err := reading(statement)
	if err != nil {
		return a, err
	}
	size := 0
	err = store.query(ctx, statement, func(fields []arrow.Field) error {
		for _, f := range fields {
			a.Columns = append(a.Columns, AnswerColumn{f.Name, arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID())})
		}
		return nil
	}, func(cells []cell) error {
		if len(a.Rows) == most || size > maxAnswer {
			a.More = true
			return errEnough
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = cut(c.text, maxCell)
			size += len(row[i])
		}
		a.Rows = append(a.Rows, row)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return a, err
}

// cut is a text of at most so many bytes, which says that it was cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most-- // not within a character
	}
	return text[:most] + "…"
}
