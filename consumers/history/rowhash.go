package history

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A row's hash covers every column but generation. It is xxHash64 of the
// columns in ClickHouse's format RowBinary, one after the other, so that
// ClickHouse computes it where the rows are, and Tributary from the record of
// the log.

// canonical is a column as it is hashed: a map is sorted by its keys.
func canonical(column string) string {
	if column == "attributes" {
		return "mapSort(attributes)"
	}
	return "`" + column + "`"
}

// rowHash is the expression of ClickHouse for a row's hash.
func rowHash() string {
	list := columns()
	for i, c := range list {
		list[i] = canonical(c)
	}
	return "xxHash64(formatRowNoNewline('RowBinary', " + strings.Join(list, ", ") + "))"
}

// columnHashes is the expression for the hash of each column of a row.
func columnHashes() string {
	list := columns()
	for i, c := range list {
		list[i] = "xxHash64(formatRowNoNewline('RowBinary', " + canonical(c) + "))"
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// rowHasher is a rowWriter that writes a row as it is hashed.
type rowHasher struct{ buf []byte }

// hash is the hash of what a record tells.
func (h *rowHasher) hash(t *decoded, topic string, rec *kgo.Record) uint64 {
	h.buf = h.buf[:0]
	t.writeRow(h, topic, rec)
	return xxhash.Sum64(h.buf)
}

func (h *rowHasher) text(_, s string)                { h.buf = appendText(h.buf, s) }
func (h *rowHasher) word(_, s string)                { h.buf = appendText(h.buf, s) }
func (h *rowHasher) number8(_ string, n uint8)       { h.buf = append(h.buf, n) }
func (h *rowHasher) identity(_ string, id uuid.UUID) { h.buf = appendUUID(h.buf, id) }
func (h *rowHasher) moment(_ string, t time.Time)    { h.buf = appendTime(h.buf, bounded(t)) }
func (h *rowHasher) number32(_ string, n int32) {
	h.buf = binary.LittleEndian.AppendUint32(h.buf, uint32(n))
}
func (h *rowHasher) number64(_ string, n int64) {
	h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(n))
}

func (h *rowHasher) optionalID(_, s string) {
	if s == "" {
		h.buf = append(h.buf, 1)
		return
	}
	h.buf = appendUUID(append(h.buf, 0), identity(s))
}

func (h *rowHasher) optionalMoment(_ string, t *time.Time) {
	if t == nil {
		h.buf = append(h.buf, 1)
		return
	}
	h.buf = appendTime(append(h.buf, 0), bounded(*t))
}

func (h *rowHasher) list(_ string, v any) {
	var err error
	if h.buf, err = appendRowBinary(h.buf, v); err != nil {
		panic(err) // a column of row.go that no test has seen
	}
}

// hashRow is the hash of a row that values made. The buffer is used and
// returned.
func hashRow(buf []byte, row []any) (uint64, []byte, error) {
	buf = buf[:0]
	var err error
	for _, v := range row {
		if buf, err = appendRowBinary(buf, v); err != nil {
			return 0, buf, err
		}
	}
	return xxhash.Sum64(buf), buf, nil
}

// appendRowBinary appends a value of values as ClickHouse writes it.
func appendRowBinary(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case string:
		b = appendText(b, x)
	case uint8:
		b = append(b, x)
	case int32:
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	case int64:
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	case uuid.UUID:
		b = appendUUID(b, x)
	case *uuid.UUID:
		if x == nil {
			return append(b, 1), nil
		}
		b = appendUUID(append(b, 0), *x)
	case time.Time:
		b = appendTime(b, x)
	case *time.Time:
		b = appendNullableTime(b, x)
	case []string:
		b = binary.AppendUvarint(b, uint64(len(x)))
		for _, s := range x {
			b = appendText(b, s)
		}
	case []uint8:
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	case []int32:
		b = binary.AppendUvarint(b, uint64(len(x)))
		for _, n := range x {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	case []*time.Time:
		b = binary.AppendUvarint(b, uint64(len(x)))
		for _, t := range x {
			b = appendNullableTime(b, t)
		}
	case map[string]string:
		b = binary.AppendUvarint(b, uint64(len(x)))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			b = appendText(appendText(b, k), x[k])
		}
	default:
		return b, fmt.Errorf("a column of type %T has no hash", v)
	}
	return b, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendUUID writes two numbers of eight bytes, each the other way round.
func appendUUID(b []byte, u uuid.UUID) []byte {
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(u[:8]))
	return binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(u[8:]))
}

func appendTime(b []byte, t time.Time) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(t.UnixMicro()))
}

func appendNullableTime(b []byte, t *time.Time) []byte {
	if t == nil {
		return append(b, 1)
	}
	return appendTime(append(b, 0), *t)
}
