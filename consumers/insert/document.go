package insert

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
)

// documentRow adds a document's own row: the columns of warehouse.document that
// are written once.
func documentRow(to *pg.Rows, it *item, rows int64, failure *mapping.DocumentError) {
	ev := it.ev
	state, phase, exception := "loaded", string(schemas.Upload), ""
	switch {
	case failure != nil:
		state, exception = "failed", failure.Exception
	case !it.load():
		state, phase, exception = "failed", ev.Phase, ev.Exception
	}
	to.Add("position", ev.Position, "event", it.id, "run", ev.Run, "run_number", ev.RunNumber, "session", ev.Session, "source", ev.Source,
		"batch", ev.Batch, "centre", centreOf(ev), "number", ev.Number, "late", ev.Late, "file", ev.File, "file_name", ev.FileName,
		"action", ev.Action, "file_date", ev.FileDate, "file_inc", ev.FileInc, "document", ev.Document, "entry", ev.Entry,
		"entry_ordinal", ev.Ordinal, "kind", ev.Kind, "doc_centre", ev.DocCentre, "doc_date", ev.DocDate, "doc_inc", ev.DocInc,
		"archive", ev.Archive, "archive_offset", ev.Offset, "packed", ev.Packed, "method", ev.Method, "crc32", ev.CRC32, "size", ev.Size,
		"sha256", ev.SHA256, "md5", ev.MD5, "rank", rank(ev), "version_key", versionKey(ev), "attempt", ev.Attempt, "download", ev.Download,
		"unzip", ev.Unzip, "profile", ev.Profile, "state", state, "phase", phase, "exception", exception, "rows", rows)
}

// appendLine appends a row as COPY takes it.
func appendLine(dst []byte, row []any) []byte {
	for i, v := range row {
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

// copyDocuments writes rows of documentRow.
func (w *writer) copyDocuments(ctx context.Context, rows pg.Rows) error {
	var lines []byte
	for _, row := range rows.Values {
		lines = appendLine(lines, row)
	}
	_, err := w.copyFrom(ctx, bytes.NewReader(lines), "COPY warehouse.document ("+strings.Join(rows.Columns, ", ")+") FROM STDIN")
	if err != nil {
		return fmt.Errorf("copy to document: %w", err)
	}
	return nil
}
