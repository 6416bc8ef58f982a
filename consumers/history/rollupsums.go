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

	"github.com/twmb/franz-go/pkg/kgo"

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
	s := &rollupSums{dir: dir, rollups: rollups()}
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

// shortener makes the short forms of records. It is used for one at a time.
type shortener struct {
	rollups []rollup
	sums    []sum
	key     []byte
}

func (s *rollupSums) shortener() *shortener {
	return &shortener{rollups: s.rollups, sums: make([]sum, len(s.rollups))}
}

// short appends the short form of a record. One that is no event is in no rollup, nor
// is what shadow runs did.
func (s *shortener) short(b []byte, t *decoded, rec *kgo.Record) []byte {
	e := t.event
	if t.unreadable != "" || schemas.IsShadow(e.Run) && e.Entity != schemas.EntityReplay {
		return b
	}
	clear(s.sums)
	at := bounded(t.message.Time)
	stepsOf(e, at, s.key, func(st *step) {
		for i, r := range s.rollups {
			key, weight, ok := r.step(st)
			if !ok {
				continue
			}
			s.key, st.buf = key, key
			s.sums[i].count++
			s.sums[i].check += checksum(key, weight)
		}
	})
	id := identity(t.message.ID)
	b = append(b, id[:]...)
	// The first in time comes first in bytes too.
	b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMicro())^1<<63)
	b = binary.BigEndian.AppendUint32(b, uint32(rec.Partition))
	b = binary.BigEndian.AppendUint64(b, uint64(rec.Offset))
	b = binary.BigEndian.AppendUint32(b, uint32(floorDay(at.Unix())))
	for _, x := range s.sums {
		b = binary.BigEndian.AppendUint32(b, uint32(x.count))
		b = binary.BigEndian.AppendUint64(b, x.check)
	}
	return b
}

// add takes short forms in.
func (s *rollupSums) add(short []byte) error {
	for one := range slices.Chunk(short, shortHead+shortSum*len(s.rollups)) {
		if _, err := s.writers[one[15]].Write(one); err != nil {
			return fmt.Errorf("verify the history: %w", err)
		}
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
