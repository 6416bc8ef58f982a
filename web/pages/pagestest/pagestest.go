// Package pagestest has pages for tests, with everything that pages are made of.
package pagestest

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/queries/asof"
	"tributary/queries/centrereport"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
	"tributary/web/pages"
	"tributary/web/past"
	"tributary/web/question"
)

// Site is what pages of a tracker are made of, an hour after the stories begin: beside
// it there are an empty warehouse, no dead letter, no replay, and the history of the
// small story.
func Site(t *testing.T, tracker *pgxpool.Pool) pages.Site {
	t.Helper()
	return Remembering(t, tracker, reporttest.History(t))
}

// Remembering is Site with another history, of which the past is made.
func Remembering(t *testing.T, tracker *pgxpool.Pool, history driver.Conn) pages.Site {
	t.Helper()
	if err := warehouse.Migrate(t.Context(), tracker); err != nil {
		t.Fatal(err)
	}
	records, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := warehouse.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	return pages.Site{
		Prefix: "/t", Name: "impc · test", Tracker: tracker, Warehouse: tracker, Mapping: records, Advice: centrereport.Explain(statements), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return reporttest.Start().Add(time.Hour) },
		Letters: func(context.Context, int, bool, func(deadletter.Row) error) error {
			return nil
		},
		Why: func(_ context.Context, source, path string) ([]why.Answer, int, error) {
			at := reporttest.Start()
			return []why.Answer{{File: path, Source: cmp.Or(source, "harwell"), Verdict: "held", Sentence: "It is held.", Evidence: []why.Fact{{At: &at, Text: "held by ann: " + path}}, Next: "release it"}}, 1, nil
		},
		Replays: func(context.Context, int) ([]*replay.Status, error) { return nil, nil },
		Past:    past.New(asof.Reader{History: history, Postgres: tracker, Writer: asof.Tracked}),
		History: func(parameters map[string]string, timeout time.Duration) report.ClickHouse {
			return report.ClickHouse{Conn: history, Timeout: timeout, Parameters: parameters}
		},
		Stores: question.Stores{"tracker": func(timeout time.Duration) report.Store {
			return report.Postgres{Pool: tracker, Schema: "tracker", Timeout: timeout}
		}},
	}
}
