package deadletter

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
)

// Insert is the stage whose documents given up are no records of a topic, but
// rows of the warehouse: a position of the order can't be set aside.
const Insert = "insert"

const quarantinedSQL = `SELECT position AS origin_offset, run, coalesce(source, '') AS source, centre, file, file_name, action, document, entry, archive, attempt, download, unzip
	FROM warehouse.document WHERE exception = 'quarantined' AND phase = 'upload' AND `

// concerns tells whether a filter is about what insert gave up, and whether it
// names just that.
func concerns(prefix string, f *Filter) (insert, only bool) {
	full := kafka.TopicName(prefix, schemas.DocumentOrderedTopic)
	stage := f.Stage == Insert || f.Stage == kafka.GroupName(prefix, Insert)
	topic := f.Topic == schemas.DocumentOrderedTopic || f.Topic == schemas.DocumentOrderedTopic+".v1" || f.Topic == full
	insert = (stage || f.Stage == "") && (topic || f.Topic == "")
	return insert, insert && (stage || topic)
}

// Quarantined gives each document that insert gave up, as a letter, in the
// order of positions. The offset in its id is the position; when it was given
// up and the failure's words are in the log only.
func Quarantined(ctx context.Context, q pg.Querier, prefix string, f *Filter, each func(*Letter) error) error {
	if insert, _ := concerns(prefix, f); !insert {
		return nil
	}
	return quarantined(ctx, q, "position > $1", 0, func(l *Letter) error {
		if !f.Match(l) {
			return nil
		}
		return each(l)
	})
}

func quarantined(ctx context.Context, q pg.Querier, where string, position int64, each func(*Letter) error) error {
	return pg.Stream(ctx, q, "read documents that insert gave up", pgx.RowToAddrOfStructByNameLax[Letter], func(l *Letter) error {
		if !isID(l.File) || !isID(l.Document) || !isID(l.Run) {
			l.File, l.Document = "", ""
		}
		l.ofInsert()
		return each(l)
	}, quarantinedSQL+where+" ORDER BY position", position)
}

// AtPosition is the letter of a document that insert gave up, as far as the
// order tells.
func AtPosition(e *schemas.DocumentOrdered) *Letter {
	l := &Letter{OriginOffset: e.Position, Run: e.Run, Source: e.Source, Centre: e.Centre, File: e.File, FileName: e.FileName, Action: e.Action,
		Document: e.Document, Entry: e.Entry, Archive: e.Archive, Attempt: e.Attempt, Download: e.Download, Unzip: e.Unzip}
	l.ofInsert()
	return l
}

// ofInsert adds what all letters of insert have, and what follows from the rest.
func (l *Letter) ofInsert() {
	l.Stage, l.Topic, l.Class, l.Error = Insert, schemas.DocumentOrderedTopic, "crashed", "loading it crashed whoever tried; tributary show tells more"
	l.ID = ID(Insert, 0, l.OriginOffset)
	l.Key = schemas.ID("dead_letter", schemas.DocumentOrderedTopic, fmt.Sprint(l.OriginOffset), l.Document)
}

// GetQuarantined returns the document that insert gave up at a position.
func GetQuarantined(ctx context.Context, q pg.Querier, position int64) (*Letter, error) {
	var found *Letter
	err := quarantined(ctx, q, "position = $1", position, func(l *Letter) error { found = l; return nil })
	if err == nil && found == nil {
		err = noLetter(ID(Insert, 0, position))
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}
