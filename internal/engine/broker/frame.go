package broker

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// frame is one request as it came, known to be whole and readable.
type frame struct {
	raw  []byte // with its size in front, as the library wants it
	head int    // where the body begins in raw
	corr int32
	req  kmsg.Request
}

// sizes are the largest frames, in bytes, that somebody may send.
type sizes struct{ produce, other int }

// readSize reads a frame's size.
func readSize(r io.Reader) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint32(b[:])), nil
}

// smallestFrame is a header without a client's name.
const smallestFrame = 8

// readRaw reads the frame whose size was read. Memory is taken as bytes
// arrive, never for what a sender only announces.
func readRaw(r io.Reader, size int, limit sizes) ([]byte, error) {
	if size < smallestFrame || size > max(limit.produce, limit.other) {
		return nil, fmt.Errorf("a frame of %d bytes", uint32(size))
	}
	raw := make([]byte, 4, 4+min(size, 64<<10))
	binary.BigEndian.PutUint32(raw, uint32(size))
	for end := 4 + size; len(raw) < end; {
		if len(raw) == cap(raw) {
			grown := make([]byte, len(raw), min(2*cap(raw), end))
			copy(grown, raw)
			raw = grown
		}
		n, err := r.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err != nil && len(raw) < end {
			return nil, fmt.Errorf("a frame that was cut off: %w", err)
		}
		if len(raw) == 8 || n > 0 && len(raw) >= 8 && len(raw)-n < 8 {
			if key := int16(binary.BigEndian.Uint16(raw[4:])); key != int16(kmsg.Produce) && size > limit.other {
				return nil, fmt.Errorf("a frame of %d bytes for key %d", size, key)
			}
		}
	}
	return raw, nil
}

// decode reads a frame that is one of the keys and versions allowed. Whatever
// the bytes are, it returns.
func decode(raw []byte, keys map[int16]versions) (f *frame, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("a request that breaks the decoder: %.100v", p)
		}
	}()
	r := kbin.Reader{Src: raw[4:]}
	key, version, corr := r.Int16(), r.Int16(), r.Int32()
	v, ok := keys[key]
	if key == int16(kmsg.ApiVersions) && ok {
		// Its body says only who asks, and a version that is too new is
		// answered like any other.
		return &frame{raw: raw, corr: corr, req: &kmsg.ApiVersionsRequest{Version: version}}, nil
	}
	if !ok || version < v.least || version > v.most {
		return nil, fmt.Errorf("key %d in version %d", key, version)
	}
	f = &frame{raw: raw, corr: corr, req: kmsg.RequestForKey(key)}
	f.req.SetVersion(version)
	r.NullableString()
	if f.req.IsFlexible() && !skipTags(&r) || !r.Ok() {
		return nil, fmt.Errorf("key %d with a header that is cut off", key)
	}
	f.head = len(raw) - len(r.Src)
	if shape, known := shapeOf(kmsg.Key(key), version); known && f.req.IsFlexible() && !fits(shape, r.Src) {
		return nil, fmt.Errorf("key %d in version %d, whose tagged fields end beyond it", key, version)
	}
	if err := f.req.ReadFrom(r.Src); err != nil {
		return nil, fmt.Errorf("key %d in version %d, which can't be read", key, version)
	}
	return f, nil
}

// encode writes the frame anew after its request was changed.
func (f *frame) encode() {
	f.raw = f.req.AppendTo(f.raw[:f.head:f.head])
	binary.BigEndian.PutUint32(f.raw, uint32(len(f.raw)-4))
}

// response is the frame that answers a request.
func response(corr int32, resp kmsg.Response) []byte {
	out := make([]byte, 8, 512)
	binary.BigEndian.PutUint32(out[4:], uint32(corr))
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}
