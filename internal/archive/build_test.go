package archive

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/flate"
)

// part is one entry as a hostile writer would lay it out: what is zero is
// filled in honestly, everything else is written as it stands.
type part struct {
	name, localName string // localName: another name in the local header
	data            []byte
	packed          []byte // instead of data's own packing
	method          uint16
	localMethod     *uint16
	flags           uint16
	mode            uint32 // unix mode
	crc             *uint32
	size            *uint64 // in both headers
	localSize       *uint32
	localCRC        *uint32
	localFlags      *uint16
	descriptor      []byte // appended after the data
	early           bool   // the local header has the values all the same
	at              *uint32
	localExtra      []byte
	centralExtra    []byte
}

type layout struct {
	parts   []part
	prefix  []byte
	suffix  []byte
	comment []byte
	entries *uint16
	dirSize *uint32
	dirOff  *uint32
}

func ptr[T any](v T) *T { return &v }

func deflated(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (l layout) bytes(t testing.TB) []byte {
	t.Helper()
	le := binary.LittleEndian
	out := append([]byte{}, l.prefix...)
	var dir []byte
	for _, p := range l.parts {
		packed := p.packed
		if packed == nil {
			packed = p.data
			if p.method == methodDeflate {
				packed = deflated(t, p.data)
			}
		}
		crc, size, at := crc32.ChecksumIEEE(p.data), uint64(len(p.data)), uint32(len(out))
		if p.crc != nil {
			crc = *p.crc
		}
		if p.size != nil {
			size = *p.size
		}
		local, method, localSize := p.localName, p.method, uint32(size)
		if local == "" {
			local = p.name
		}
		if p.localMethod != nil {
			method = *p.localMethod
		}
		if p.localSize != nil {
			localSize = *p.localSize
		}
		localCRC, localPacked := crc, uint32(len(packed))
		if p.localCRC != nil {
			localCRC = *p.localCRC
		}
		if p.descriptor != nil && !p.early {
			localCRC, localPacked, localSize = 0, 0, 0
		}
		out = le.AppendUint32(out, sigLocal)
		out = le.AppendUint16(out, 20)
		flags := p.flags
		if p.localFlags != nil {
			flags = *p.localFlags
		}
		out = le.AppendUint16(out, flags)
		out = le.AppendUint16(out, method)
		out = append(out, 0, 0, 0x21, 0)
		out = le.AppendUint32(out, localCRC)
		out = le.AppendUint32(out, localPacked)
		out = le.AppendUint32(out, localSize)
		out = le.AppendUint16(out, uint16(len(local)))
		out = le.AppendUint16(out, uint16(len(p.localExtra)))
		out = append(append(out, local...), p.localExtra...)
		out = append(append(out, packed...), p.descriptor...)
		if p.at != nil {
			at = *p.at
		}
		dir = le.AppendUint32(dir, sigCentral)
		dir = append(dir, 20, 3, 20, 0)
		dir = le.AppendUint16(dir, p.flags)
		dir = le.AppendUint16(dir, p.method)
		dir = append(dir, 0, 0, 0x21, 0)
		dir = le.AppendUint32(dir, crc)
		dir = le.AppendUint32(dir, uint32(len(packed)))
		dir = le.AppendUint32(dir, uint32(size))
		dir = le.AppendUint16(dir, uint16(len(p.name)))
		dir = le.AppendUint16(dir, uint16(len(p.centralExtra)))
		dir = append(dir, 0, 0, 0, 0, 0, 0)
		dir = le.AppendUint32(dir, p.mode<<16)
		dir = le.AppendUint32(dir, at)
		dir = append(append(dir, p.name...), p.centralExtra...)
	}
	entries, dirSize, dirOff := uint16(len(l.parts)), uint32(len(dir)), uint32(len(out)-len(l.prefix))
	if l.entries != nil {
		entries = *l.entries
	}
	if l.dirSize != nil {
		dirSize = *l.dirSize
	}
	if l.dirOff != nil {
		dirOff = *l.dirOff
	}
	out = append(out, dir...)
	out = le.AppendUint32(out, sigEnd)
	out = append(out, 0, 0, 0, 0)
	out = le.AppendUint16(out, entries)
	out = le.AppendUint16(out, entries)
	out = le.AppendUint32(out, dirSize)
	out = le.AppendUint32(out, dirOff)
	out = le.AppendUint16(out, uint16(len(l.comment)))
	out = append(out, l.comment...)
	return append(out, l.suffix...)
}

// descriptor is the record after the data, in its common 32-bit form.
func descriptor(data []byte, packed int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, sigDescriptor)
	b = le.AppendUint32(b, crc32.ChecksumIEEE(data))
	b = le.AppendUint32(b, uint32(packed))
	return le.AppendUint32(b, uint32(len(data)))
}
