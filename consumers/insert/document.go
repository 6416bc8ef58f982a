package insert

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"tributary/internal/mapping"
	"tributary/schemas"
)

// documentColumns are those of warehouse.document that are written once, in the
// order of appendDocument.
const documentColumns = `position, event, run, run_number, session, source, batch, centre, number, late,
	file, file_name, action, file_date, file_inc, document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc,
	archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
	attempt, download, unzip, profile, state, phase, exception, rows`

// appendDocument appends a document's own row.
func appendDocument(dst []byte, it *item, rows int64, failure *mapping.DocumentError) []byte {
	ev := it.ev
	state, phase, exception := "loaded", string(schemas.Upload), ""
	switch {
	case failure != nil:
		state, exception = "failed", failure.Exception
	case !it.load():
		state, phase, exception = "failed", ev.Phase, ev.Exception
	}
	for i, v := range []any{ev.Position, it.id, ev.Run, ev.RunNumber, ev.Session, ev.Source, ev.Batch, centreOf(ev), ev.Number, ev.Late,
		ev.File, ev.FileName, ev.Action, ev.FileDate, ev.FileInc, ev.Document, ev.Entry, ev.Ordinal, ev.Kind, ev.DocCentre, ev.DocDate, ev.DocInc,
		ev.Archive, ev.Offset, ev.Packed, ev.Method, ev.CRC32, ev.Size, ev.SHA256, ev.MD5, rank(ev), versionKey(ev),
		ev.Attempt, ev.Download, ev.Unzip, ev.Profile, state, phase, exception, rows} {
		if i > 0 {
			dst = append(dst, '\t')
		}
		switch v := v.(type) {
		case string:
			dst = appendText(dst, v)
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case int32:
			dst = strconv.AppendInt(dst, int64(v), 10)
		case bool:
			dst = strconv.AppendBool(dst, v)
		}
	}
	return append(dst, '\n')
}

// appendText appends text escaped for COPY. A zero byte, which Postgres can't
// hold, is shown as a replacement character; names with one were refused long
// before.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\':
			dst = append(dst, `\\`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case 0:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func (w *writer) copyDocuments(ctx context.Context, lines []byte) error {
	_, err := w.copyFrom(ctx, bytes.NewReader(lines), "COPY warehouse.document ("+documentColumns+") FROM STDIN")
	if err != nil {
		return fmt.Errorf("copy to document: %w", err)
	}
	return nil
}
