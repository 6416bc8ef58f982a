package history

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// pieceRows is how many rows are turned into columns at once: few enough that
// they take little memory beside the batch, and many enough that the batch's
// columns don't grow often.
const pieceRows = 5_000

// filler turns records into batches of the new table. Each worker of a rebuild
// has one.
type filler struct {
	r      *rebuild
	reader reader
	block  *block
	batch  driver.Batch // nil between batches; aborted, not closed, which would end an INSERT that failed as if it were whole
	rows   int          // in the batch
}

// work stores the records that are read until there are no more.
func (r *rebuild) work(ctx context.Context, read <-chan []*kgo.Record) error {
	f := &filler{r: r, reader: reader{codec: r.h.deps.Codec}, block: newBlock()}
	defer f.abort()
	for records := range read {
		for len(records) > 0 {
			n := min(len(records), r.o.Batch-f.rows)
			if err := f.add(ctx, records[:n]); err != nil {
				return err
			}
			records = records[n:]
			if f.rows < r.o.Batch {
				continue
			}
			if err := f.send(); err != nil {
				return err
			}
		}
	}
	return f.send()
}

func (f *filler) add(ctx context.Context, records []*kgo.Record) (err error) {
	if f.batch == nil {
		ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0}))
		if f.batch, err = f.r.conn.PrepareBatch(ctx, "INSERT INTO `"+f.r.built+"` ("+columnList()+", generation)"); err != nil {
			return fmt.Errorf("begin to insert: %w", err)
		}
	}
	f.block.reset()
	for _, rec := range records {
		if err := f.reader.write(f.block, schemas.StatusChangedTopic, rec); err != nil {
			return fmt.Errorf("partition %d at offset %d: %w", rec.Partition, rec.Offset, err)
		}
		f.block.end()
	}
	if err := f.block.appendTo(f.batch, f.r.generation); err != nil {
		return fmt.Errorf("insert %d records: %w", len(records), err)
	}
	f.rows += len(records)
	return nil
}

// send stores the batch.
func (f *filler) send() error {
	if f.batch == nil {
		return nil
	}
	if err := f.batch.Send(); err != nil {
		return fmt.Errorf("insert %d records: %w", f.rows, err)
	}
	done := f.r.rows.Add(int64(f.rows))
	f.batch, f.rows = nil, 0
	if f.r.o.Progress != nil {
		f.r.o.Progress(done, f.r.total)
	}
	return nil
}

// abort gives up a batch that failed.
func (f *filler) abort() {
	if f.batch != nil {
		_ = f.batch.Abort() // what failed is told already
	}
}
