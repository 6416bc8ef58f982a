package columnar

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"tributary/queries/report"
)

// SQL is [report.SQL], which also writes files of columns.
func SQL(ctx context.Context, store report.Store, statement string, w io.Writer, format string) error {
	if format != Parquet && format != Arrow {
		return report.SQL(ctx, store, statement, w, format)
	}
	return report.Columns(ctx, store, statement, func(fields []arrow.Field) (report.Rows, error) {
		out, err := New(w, format, fields)
		if err != nil {
			return nil, err
		}
		return out, nil
	})
}
