package report

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// maxMessage is how many bytes of a statement's answer Postgres may send at once, most often a
// row. It is fixed: the client holds one whole, several times over, before anybody can look at
// it, and a statement of one line makes a gigabyte.
const maxMessage = 16 << 20

// errWide ends a statement that answers with more than that at once.
var errWide = errors.New("a row of the answer, or an error, has more than 16 MiB: choose other columns, or parts of them with left() or substr()")

// narrow reads what Postgres sends to a reader, up to the first message that is too long.
func narrow(r io.Reader, w io.Writer) *pgproto3.Frontend {
	return pgproto3.NewFrontend(&messages{r: r}, w)
}

// messages are those of a server, as they come: each has a letter, its length, and as many
// bytes.
type messages struct {
	r    io.Reader
	head []byte // what has come of the present one's letter and length
	left int    // bytes of it that are still to come
}

// Read reads.
func (m *messages) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	for b := p[:n]; len(b) > 0; {
		if m.left > 0 {
			gone := min(m.left, len(b))
			m.left, b = m.left-gone, b[gone:]
			continue
		}
		m.head, b = append(m.head, b[0]), b[1:]
		if len(m.head) < 5 {
			continue
		}
		length := binary.BigEndian.Uint32(m.head[1:])
		if length > maxMessage {
			return 0, fmt.Errorf("read what Postgres answers: %w", errWide)
		}
		m.head, m.left = m.head[:0], max(int(length)-4, 0)
	}
	return n, err
}
