package sftp

import (
	"encoding/binary"
	"io"
	"runtime"
	"sync"

	"tributary/internal/remote"
)

// ownID is set in the ids of our own requests. The library counts its own from 1, and
// two thousand million of them are more than a session lasts for.
const ownID = 1 << 31

// requests sends packets over the library's channel: the library's, and our own beside
// them, whose answers frameReader gives back. What is asked for while a packet is on its
// way goes into the next one together.
type requests struct {
	out io.WriteCloser

	mu      sync.Mutex
	unsent  []byte
	sending bool
	closing bool // Close was called
	ended   bool // nothing is sent or answered any more
	id      uint32
	waiting map[uint32]func(reply) bool
}

// reply is a packet of the server's without its id; without a kind none comes.
type reply struct {
	kind byte
	body []byte
	// frame is the whole packet, of whose memory body is a part.
	frame []byte
}

// ask appends a request to packets, of which told hears the answer once: it keeps nobody
// waiting, and says whether it keeps the body.
func (q *requests) ask(packets []byte, kind byte, told func(reply) bool, args ...[]byte) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		told(reply{})
		return packets
	}
	if q.waiting == nil {
		q.waiting = make(map[uint32]func(reply) bool)
	}
	q.id = (q.id + 1) | ownID
	q.waiting[q.id] = told
	n := 5
	for _, arg := range args {
		n += len(arg)
	}
	packets = binary.BigEndian.AppendUint32(packets, uint32(n)) //nolint:gosec // a path and a few numbers
	packets = binary.BigEndian.AppendUint32(append(packets, kind), q.id)
	for _, arg := range args {
		packets = append(packets, arg...)
	}
	return packets
}

// Write sends whole packets. Where somebody else is sending, that one sends these too:
// then an error is told by answers that don't come.
func (q *requests) Write(packets []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return 0, io.ErrClosedPipe
	}
	q.unsent = append(q.unsent, packets...)
	if q.sending {
		return len(packets), nil
	}
	q.sending = true
	defer func() {
		if q.sending = false; q.closing {
			_ = q.out.Close() // the connection's end is told, if it isn't known
		}
	}()
	// Answers come many at once, and whoever has got one asks for the next thing. Who
	// can run now adds that, and all of it is one packet to encrypt, to send and to read.
	q.mu.Unlock()
	runtime.Gosched()
	q.mu.Lock()
	for len(q.unsent) > 0 && !q.ended {
		now := q.unsent
		q.unsent = nil
		q.mu.Unlock()
		_, err := q.out.Write(now)
		q.mu.Lock()
		if err != nil {
			q.end()
			return 0, err
		}
	}
	return len(packets), nil
}

// answered tells who waits for a packet of ours, and whether its memory is kept. Once
// nothing can be sent any more nobody waits, and what had been answered before that is no
// fault of the server's.
func (q *requests) answered(id uint32, a reply) (kept bool, err error) {
	q.mu.Lock()
	told, ok := q.waiting[id]
	ended := q.ended
	delete(q.waiting, id)
	q.mu.Unlock()
	switch {
	case !ok && ended:
		return false, io.EOF
	case !ok:
		return false, remote.Broken("protocol_error", "it answers a request that was not sent")
	}
	return told(a), nil
}

// fail tells all who wait that no answer comes any more.
func (q *requests) fail() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end()
}

func (q *requests) end() {
	q.ended = true
	for id, told := range q.waiting {
		delete(q.waiting, id)
		told(reply{})
	}
}

// Close ends the channel. Where somebody is sending, that one does so, as the channel
// doesn't bear both at once.
func (q *requests) Close() error {
	q.mu.Lock()
	q.end()
	q.closing = true
	sending := q.sending
	q.mu.Unlock()
	if sending {
		return nil
	}
	return q.out.Close()
}
