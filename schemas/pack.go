package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
)

// maxPacked is the most that one pack may unpack to, in bytes: far more than
// an outbox puts into one.
const maxPacked = 64 << 20

// errPacked says that bytes are no packed records.
var errPacked = errors.New("packed records are damaged")

// PackRecords is the form in which records wait in an outbox: topic, key,
// value and headers, each preceded by its length as a varint, and all
// compressed together, since neighbours say much the same.
func PackRecords(records []Record) []byte {
	size := 0
	for _, r := range records {
		size += r.Size()
	}
	b := make([]byte, 0, size+64*len(records))
	for _, r := range records {
		b = appendPart(b, r.Topic)
		b = appendPart(b, r.Key)
		b = appendPart(b, r.Value)
		b = binary.AppendUvarint(b, uint64(len(r.Headers)))
		for _, h := range r.Headers {
			b = appendPart(b, h.Key)
			b = appendPart(b, h.Value)
		}
	}
	return s2.Encode(nil, b)
}

// Size is the length of a record's texts, in bytes, without framing.
func (r Record) Size() int {
	n := len(r.Topic) + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

func appendPart[T string | []byte](b []byte, part T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// UnpackRecords reads what PackRecords wrote. The records share one buffer.
func UnpackRecords(packed []byte) ([]Record, error) {
	n, err := s2.DecodedLen(packed)
	if err != nil || n > maxPacked {
		return nil, errPacked
	}
	b, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	u := unpacking{rest: b}
	var records []Record
	topic := ""
	for len(u.rest) > 0 && !u.damaged {
		// Neighbours mostly have one topic, and all the same headers: a text for each
		// would be most of what is asked of memory here.
		if t := u.part(); string(t) != topic {
			topic = string(t)
		}
		r := Record{Topic: topic, Key: string(u.part()), Value: u.part()}
		count := u.number()
		if count > 0 {
			r.Headers = make([]Header, 0, min(count, 8))
		}
		for range count {
			if u.damaged {
				break
			}
			r.Headers = append(r.Headers, Header{Key: headerKey(u.part()), Value: u.part()})
		}
		records = append(records, r)
	}
	if u.damaged {
		return nil, errPacked
	}
	return records, nil
}

// headerKey is the key of a header as a text, which is one and the same for all events.
func headerKey(key []byte) string {
	switch string(key) {
	case headerSpec:
		return headerSpec
	case headerID:
		return headerID
	case headerType:
		return headerType
	case headerSource:
		return headerSource
	case headerTime:
		return headerTime
	case headerSubject:
		return headerSubject
	case headerContent:
		return headerContent
	case headerTrace:
		return headerTrace
	}
	return string(key)
}

// unpacking reads parts from a buffer until one is cut off.
type unpacking struct {
	rest    []byte
	damaged bool
}

func (u *unpacking) number() uint64 {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 {
		u.rest, u.damaged = nil, true
		return 0
	}
	u.rest = u.rest[size:]
	return n
}

func (u *unpacking) part() []byte {
	n := u.number()
	if n > uint64(len(u.rest)) {
		u.rest, u.damaged = nil, true
		return nil
	}
	part := u.rest[:n:n]
	u.rest = u.rest[n:]
	return part
}
