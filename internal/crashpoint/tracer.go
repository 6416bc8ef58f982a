//go:build crashpoints

package crashpoint

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Tracer labels the statements of a connection that commit themselves: those
// that write, outside of a transaction.
func Tracer() pgx.QueryTracer { return tracer{} }

type tracer struct{}

type statement struct{}

// TraceQueryStart is called before a statement is sent.
func (tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if conn.PgConn().TxStatus() != 'I' {
		return ctx
	}
	label := writes(data.SQL)
	if label == "" {
		return ctx
	}
	At("statement", label, "before")
	return context.WithValue(ctx, statement{}, label)
}

// TraceQueryEnd is called when its answer has been read.
func (tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if label, ok := ctx.Value(statement{}).(string); ok && data.Err == nil {
		At("statement", label, "after")
	}
}

// writes returns verb and table of a statement that writes, or nothing.
func writes(sql string) string {
	words := strings.Fields(sql)
	if len(words) < 3 {
		return ""
	}
	switch verb := strings.ToUpper(words[0]); verb {
	case "UPDATE":
		return "update." + words[1]
	case "INSERT", "DELETE":
		return strings.ToLower(verb) + "." + words[2]
	case "WITH":
		if up := strings.ToUpper(sql); strings.Contains(up, "INSERT INTO") || strings.Contains(up, "UPDATE ") || strings.Contains(up, "DELETE FROM") {
			return "with." + words[1]
		}
	}
	return ""
}
