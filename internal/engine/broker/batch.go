package broker

import (
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	batchHeader   = 61 // bytes before the first record
	maskCodec     = 0x07
	maskForbidden = 0x10 | 0x20 // of transactions, and control batches
)

// readBatch reads the header of the batch that a request carries. One whose
// counts don't agree would move the log's end anywhere.
func readBatch(raw []byte) (kmsg.RecordBatch, *kerr.Error) {
	var b kmsg.RecordBatch
	if len(raw) < batchHeader || b.ReadFrom(raw) != nil || int64(b.Length) != int64(len(raw))-12 || b.Magic != 2 {
		return b, kerr.CorruptMessage
	}
	if b.NumRecords < 1 || b.LastOffsetDelta != b.NumRecords-1 || int(b.NumRecords) > len(raw)*maxRatio {
		return b, kerr.InvalidRecord
	}
	if b.Attributes&maskForbidden != 0 {
		return b, kerr.InvalidRecord
	}
	return b, nil
}

// maxRatio is more records than a byte of a compressed batch can hold.
const maxRatio = 4096

// checkRecords reads a batch to its last record, as a broker must that takes
// batches from strangers: nothing that reads the topic could pass over one that
// can't be read. So the batch must not be compressed.
func checkRecords(raw []byte) *kerr.Error {
	b, err := readBatch(raw)
	if err != nil {
		return err
	}
	if b.Attributes&maskCodec != 0 {
		return kerr.UnsupportedCompressionType
	}
	if uint32(b.CRC) != checksum(raw[21:]) {
		return kerr.CorruptMessage
	}
	rest := raw[batchHeader:]
	for i := range b.NumRecords {
		r := kbin.Reader{Src: rest}
		length := r.Varint()
		whole := r.Span(int(length))
		if !r.Ok() || !checkRecord(whole, i) {
			return kerr.InvalidRecord
		}
		rest = r.Src
	}
	if len(rest) > 0 {
		return kerr.InvalidRecord
	}
	return nil
}

// checksum is that of a batch, of all that follows it.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// checkRecord reads one record without its length.
func checkRecord(whole []byte, index int32) bool {
	r := kbin.Reader{Src: whole}
	r.Int8()
	r.Varlong()
	if r.Varint() != index {
		return false
	}
	r.VarintBytes()
	r.VarintBytes()
	for n := r.Varint(); n > 0 && r.Ok(); n-- {
		r.VarintBytes()
		r.VarintBytes()
	}
	return r.Ok() && len(r.Src) == 0
}
