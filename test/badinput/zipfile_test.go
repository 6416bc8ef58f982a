package badinput

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
)

// Signatures, methods and flags of the zip format.
const (
	sigLocal   = 0x04034b50
	sigCentral = 0x02014b50
	sigEnd     = 0x06054b50
	sigEnd64   = 0x06064b50
	sigLoc64   = 0x07064b50
	sigDesc    = 0x08074b50

	store, deflate = 0, 8

	flagEncrypted, flagDescriptor, flagStrong, flagUTF8, flagMasked = 1, 8, 1 << 6, 1 << 11, 1 << 13
)

// part is one entry as a hostile writer would lay it out: what is zero is
// filled in honestly, everything else is written as it stands.
type part struct {
	name       string
	data       []byte
	packed     []byte // instead of data's own packing
	method     uint16
	flags      uint16
	mode       uint32 // unix mode
	before     []byte // bytes that belong to nobody, before it
	date       uint32 // DOS date and time, as stored
	crc        *uint32
	size       *uint32 // in both headers
	at         *uint32 // where the directory says it begins
	descriptor []byte  // after the data; the local header then lacks the values

	localName   *string
	localSize   *uint32
	localCRC    *uint32
	localMethod *uint16
	localFlags  *uint16

	localExtra, centralExtra []byte
}

// layout is a zip file: all that is zero is filled in honestly.
type layout struct {
	parts                   []part
	prefix, suffix, comment []byte
	aware                   bool // offsets count the prefix
	count                   *uint16
	offset                  *uint32
	wide                    bool // with a zip64 end record
}

func ptr[T any](v T) *T { return &v }

func or[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err) // the level is right
	}
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	return b.Bytes()
}

// fields appends little-endian numbers of the widths that their types have.
func fields(b []byte, values ...any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}

func (l layout) bytes() []byte {
	out := bytes.Clone(l.prefix)
	start := len(l.prefix)
	if l.aware {
		start = 0
	}
	var dir []byte
	for _, p := range l.parts {
		out = append(out, p.before...)
		packed := p.packed
		if packed == nil {
			packed = p.data
			if p.method == deflate {
				packed = deflated(p.data)
			}
		}
		date := p.date
		if date == 0 {
			date = 0x5a210000
		}
		crc, size, at := or(p.crc, crc32.ChecksumIEEE(p.data)), or(p.size, uint32(len(p.data))), uint32(len(out)-start)
		local := or(p.localName, p.name)
		localCRC, localSize, localPacked := or(p.localCRC, crc), or(p.localSize, size), uint32(len(packed))
		if p.descriptor != nil {
			localCRC, localSize, localPacked = or(p.localCRC, 0), or(p.localSize, 0), 0
		}
		out = fields(out, sigLocal, uint16(20), or(p.localFlags, p.flags), or(p.localMethod, p.method), date,
			localCRC, localPacked, localSize, uint16(len(local)), uint16(len(p.localExtra)))
		out = append(append(out, local...), p.localExtra...)
		out = append(append(out, packed...), p.descriptor...)
		dir = fields(dir, sigCentral, uint16(0x0314), uint16(20), p.flags, p.method, date, crc, uint32(len(packed)), size,
			uint16(len(p.name)), uint16(len(p.centralExtra)), uint16(0), uint16(0), uint16(0), p.mode<<16, or(p.at, at))
		dir = append(append(dir, p.name...), p.centralExtra...)
	}
	offset := uint32(len(out) - start)
	out = append(out, dir...)
	if l.wide {
		at := uint64(len(out) - start)
		out = fields(out, sigEnd64, uint64(44), uint16(45), uint16(45), 0, 0, uint64(len(l.parts)), uint64(len(l.parts)), uint64(len(dir)), uint64(offset))
		out = fields(out, sigLoc64, 0, at, 1)
		offset = 0xffffffff
	}
	count := or(l.count, uint16(len(l.parts)))
	out = fields(out, sigEnd, uint16(0), uint16(0), count, count, uint32(len(dir)), or(l.offset, offset), uint16(len(l.comment)))
	return append(append(out, l.comment...), l.suffix...)
}

// descriptor is the record after the data, with its signature.
func descriptor(data []byte, packed int) []byte {
	return fields(nil, sigDesc, crc32.ChecksumIEEE(data), uint32(packed), uint32(len(data)))
}

// unicodePath is the extra field that gives raw another name.
func unicodePath(raw, name string) []byte {
	b := fields(nil, uint16(0x7075), uint16(5+len(name)))
	b = append(b, 1)
	return append(fields(b, crc32.ChecksumIEEE([]byte(raw))), name...)
}
