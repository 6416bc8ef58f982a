package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tributary/schemas"
)

// classes is how many files the records are spread over, by their ids: one of
// them at a time is in memory.
const classes = 256

// rollupSums adds up what the rollups should hold. An event that is repeated
// counts once, where the view once shows it: so a short form of each record is
// written to a file of records with like ids, and counted when all are there.
type rollupSums struct {
	dir     string
	files   [classes]*os.File
	writers [classes]*bufio.Writer
	rollups []rollup
	at      map[string]int // columns
	record  []byte
	key     []byte
}

// shortHead is the length of what a short form begins with: id, time,
// partition, offset, day. For each rollup follow how many steps count in it,
// and their checksum.
const (
	shortHead = 16 + 8 + 4 + 8 + 4
	shortSum  = 4 + 8
)

func newRollupSums(scratch string) (*rollupSums, error) {
	dir, err := os.MkdirTemp(scratch, "tributary-verify-")
	if err != nil {
		return nil, fmt.Errorf("verify the history: %w", err)
	}
	s := &rollupSums{dir: dir, rollups: rollups(), at: map[string]int{}}
	for i, c := range columns() {
		s.at[c] = i
	}
	for i := range s.files {
		if s.files[i], err = os.Create(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return nil, errors.Join(fmt.Errorf("verify the history: %w", err), s.close())
		}
		s.writers[i] = bufio.NewWriterSize(s.files[i], 32<<10)
	}
	return s, nil
}

// close removes the files.
func (s *rollupSums) close() error {
	for _, f := range s.files {
		if f != nil {
			_ = f.Close() // it is removed anyway
		}
	}
	return os.RemoveAll(s.dir)
}

// add takes a row in. Records that are no events are in no rollup, nor is what
// shadow runs did.
func (s *rollupSums) add(row []any) error {
	if text, _ := row[s.at["unreadable"]].(string); text != "" {
		return nil
	}
	entity, _ := row[s.at["entity"]].(string)
	if shadow, _ := row[s.at["shadow"]].(uint8); shadow != 0 && entity != schemas.EntityReplay {
		return nil
	}
	sums := make([]sum, len(s.rollups))
	stepsOf(row, s.at, s.key, func(st *step) {
		for i, r := range s.rollups {
			key, weight, ok := r.step(st)
			if !ok {
				continue
			}
			s.key = key
			sums[i].count++
			sums[i].check += checksum(key, weight)
		}
	})
	id, at := rowID(row), rowTime(row)
	partition, _ := row[1].(int32)
	offset, _ := row[2].(int64)
	b := s.record[:0]
	b = append(b, id[:]...)
	// The first in time comes first in bytes too.
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMicro())^1<<63)
	b = binary.BigEndian.AppendUint32(b, uint32(partition))
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	b = binary.BigEndian.AppendUint32(b, uint32(floorDay(at.Unix())))
	for _, x := range sums {
		b = binary.BigEndian.AppendUint32(b, uint32(x.count))
		b = binary.BigEndian.AppendUint64(b, x.check)
	}
	s.record = b
	if _, err := s.writers[id[15]].Write(b); err != nil {
		return fmt.Errorf("verify the history: %w", err)
	}
	return nil
}

func floorDay(seconds int64) int32 {
	d := seconds / 86400
	if seconds%86400 < 0 {
		d--
	}
	return int32(d)
}

// total is what each rollup should hold per day.
func (s *rollupSums) total() ([]map[int32]sum, error) {
	out := make([]map[int32]sum, len(s.rollups))
	for i := range out {
		out[i] = map[int32]sum{}
	}
	for i, w := range s.writers {
		if err := w.Flush(); err != nil {
			return nil, fmt.Errorf("verify the history: %w", err)
		}
		if err := s.class(s.files[i], out); err != nil {
			return nil, fmt.Errorf("verify the history: %w", err)
		}
	}
	return out, nil
}

func (s *rollupSums) class(f *os.File, out []map[int32]sum) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	all, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	records := slices.Collect(slices.Chunk(all, shortHead+shortSum*len(s.rollups)))
	slices.SortFunc(records, func(a, b []byte) int { return bytes.Compare(a[:shortHead], b[:shortHead]) })
	var last []byte
	for _, r := range records {
		if bytes.Equal(last, r[:16]) {
			continue // a repeat
		}
		last = r[:16]
		day := int32(binary.BigEndian.Uint32(r[shortHead-4:]))
		for i, rest := 0, r[shortHead:]; i < len(s.rollups); i, rest = i+1, rest[shortSum:] {
			n := uint64(binary.BigEndian.Uint32(rest))
			if n == 0 {
				continue
			}
			d := day
			if s.rollups[i].day == "toDate(0)" {
				d = 0
			}
			x := out[i][d]
			x.count += n
			x.check += binary.BigEndian.Uint64(rest[4:])
			out[i][d] = x
		}
	}
	return nil
}
