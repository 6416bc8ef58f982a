//go:build !race

package tracker

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/pg"
)

// A tracker that an earlier program made and filled, with its own migrations,
// events and code, is brought to the newest version, goes on, and has the rows
// that the log gives. For each commit in testdata there are the tables as
// SQL (tracker-COMMIT.sql.gz) and the log that filled them (log-COMMIT.json.gz:
// records with partition, key, value and headers, in order). That of 2d3efd6 has
// the migrations up to 4.
func TestTrackersOfEarlierPrograms(t *testing.T) {
	kept, err := filepath.Glob("testdata/tracker-*.sql.gz")
	if err != nil || len(kept) == 0 {
		t.Fatalf("no trackers of earlier programs: %v", err)
	}
	for _, path := range kept {
		commit := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "tracker-"), ".sql.gz")
		t.Run(commit, func(t *testing.T) {
			s := newSystem(t)
			s.produceKept("testdata/log-" + commit + ".json.gz")
			tables := string(unpacked(t, path))
			if err := pg.InTx(t.Context(), s.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), tables, pgx.QueryExecModeSimpleProtocol)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			read, err := column(s.pool, "SELECT sum(next_offset)::text FROM tracker.consumed")
			if err != nil || len(read) != 1 || read[0] == "" {
				t.Fatalf("the earlier tracker has read %q, %v", read, err)
			}
			if err := s.opened(); err != nil {
				t.Fatal(err)
			}
			s.goesOn()
		})
	}
}

// produceKept appends records that were kept to the partitions that they were in.
func (s *system) produceKept(path string) {
	s.t.Helper()
	client, err := s.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	d := json.NewDecoder(bytes.NewReader(unpacked(s.t, path)))
	var records []*kgo.Record
	for {
		var k struct {
			Partition  int32
			Key, Value []byte
			Headers    []kgo.RecordHeader
		}
		err := d.Decode(&k)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
		records = append(records, &kgo.Record{Topic: s.topic, Partition: k.Partition, Key: k.Key, Value: k.Value, Headers: k.Headers})
	}
	if err := client.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// unpacked is what a compressed file holds.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return content
}
