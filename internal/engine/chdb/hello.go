package chdb

import (
	"encoding/binary"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

// helloQuery is what clickhouse-go asks first. It reads the answer as its own
// newest protocol revision, and everything after at the revision that the
// answer names. The engine writes revision 0, so that is what the answer names.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

func isHello(query string) bool { return strings.TrimSpace(query) == helloQuery }

// hello is the answer in clickhouse-go's newest revision: block info, one row
// of four columns, and before each value a byte for "no custom serialization".
func hello(version string) []byte {
	b := &proto.Buffer{}
	b.Buf = append(b.Buf, 1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0)
	b.PutUVarInt(4)
	b.PutUVarInt(1)
	column := func(name, typ string) {
		b.PutString(name)
		b.PutString(typ)
		b.Buf = append(b.Buf, 0)
	}
	column("displayName()", "String")
	b.PutString("tributary")
	column("version()", "String")
	b.PutString(version)
	column("revision()", "UInt32")
	b.Buf = binary.LittleEndian.AppendUint32(b.Buf, 0)
	column("timezone()", "String")
	b.PutString("UTC")
	return b.Buf
}

// header is a block of no rows: the names and types of a result that is empty.
func header(names, types []string) []byte {
	b := &proto.Buffer{}
	b.PutUVarInt(uint64(len(names)))
	b.PutUVarInt(0)
	for i := range names {
		b.PutString(names[i])
		b.PutString(types[i])
	}
	return b.Buf
}
