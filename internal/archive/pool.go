package archive

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

const bufferSize = 32 << 10

// inflater reads deflated bytes through a buffer. With its window it takes
// about 110 kB, which is more than most documents, so it is used again.
type inflater struct {
	in   *bufio.Reader
	out  io.ReadCloser
	read [bufferSize]byte // for who checks what was inflated, and keeps nothing of it
}

var inflaters = sync.Pool{New: func() any { //nolint:gochecknoglobals // a cache of buffers, no state
	in := bufio.NewReaderSize(nil, bufferSize)
	return &inflater{in: in, out: flate.NewReader(in)}
}}

// newInflater returns one that reads src.
func newInflater(src io.Reader) (*inflater, error) {
	x := inflaters.Get().(*inflater) //nolint:forcetypeassert // the pool holds nothing else
	if err := x.reset(src); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *inflater) reset(src io.Reader) error {
	x.in.Reset(src)
	if err := x.out.(flate.Resetter).Reset(x.in, nil); err != nil { //nolint:forcetypeassert // documented of NewReader
		return fmt.Errorf("reset the inflater: %w", err)
	}
	return nil
}

// free gives the inflater back; it must not be used afterwards.
func (x *inflater) free() {
	x.in.Reset(nil)
	inflaters.Put(x)
}

func (x *inflater) Read(b []byte) (int, error) { return x.out.Read(b) }
