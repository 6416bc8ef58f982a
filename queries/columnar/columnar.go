// Package columnar writes rows as Parquet or as an Arrow IPC file, in batches of
// bounded size: what is held in memory does not grow with the number of rows.
package columnar

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Formats of files.
const (
	Parquet = "parquet" // a row group for each batch, compressed with zstd
	Arrow   = "arrow"   // an Arrow IPC file (not a stream), uncompressed, as readers map it
)

// Limits of a batch, whichever is reached first; at least a row is in it.
const (
	batchRows  = 64 << 10
	batchBytes = 16 << 20 // of texts, bytes and lists, roughly
)

// Writer writes rows. It is not safe for concurrent use. Close must be called at
// the end, or the file can't be read.
type Writer struct {
	fields []arrow.Field
	build  *array.RecordBuilder
	out    interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	rows, bytes int
}

// New returns a writer of a file of the given format, with a column for each
// field, to w.
func New(w io.Writer, format string, fields []arrow.Field) (*Writer, error) {
	schema := arrow.NewSchema(fields, nil)
	o := &Writer{fields: fields, build: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	var err error
	switch format {
	case Parquet:
		// The Arrow schema is kept too: without it readers would lose zones of
		// moments and the kinds of lists.
		o.out, err = pqarrow.NewFileWriter(schema, unclosed{w},
			parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithMaxRowGroupLength(batchRows), parquet.WithCreatedBy("tributary")),
			pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	case Arrow:
		o.out, err = ipc.NewFileWriter(w, ipc.WithSchema(schema))
	default:
		err = fmt.Errorf("format %q is none of columns: use %s or %s", format, Parquet, Arrow)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// unclosed is a writer that closing the file leaves open, as its owner closes it.
type unclosed struct{ io.Writer }

// Row writes a row: for each column nil, a Go value of its type, or a text in the
// form of Postgres.
func (w *Writer) Row(values []any) error {
	for i, v := range values {
		n, err := add(w.build.Field(i), v)
		if err != nil {
			return fmt.Errorf("the column %s: %w: make it a text, with CAST(… AS text) in Postgres or toString(…) in ClickHouse", w.fields[i].Name, err)
		}
		w.bytes += n
	}
	if w.rows++; w.rows < batchRows && w.bytes < batchBytes {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	batch := w.build.NewRecordBatch()
	defer batch.Release()
	w.rows, w.bytes = 0, 0
	return w.out.Write(batch)
}

// Close writes what is left, and the file's end.
func (w *Writer) Close() error {
	defer w.build.Release()
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.Close()
}
