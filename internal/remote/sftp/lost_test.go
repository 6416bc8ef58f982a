package sftp

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// deaf is a connection whose end came just before a channel was asked for: the
// library never answers then.
type deaf struct {
	ssh.Conn
	end <-chan struct{}
}

func (d deaf) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	<-d.end
	return nil, nil, errors.New("answered after an hour")
}

func TestAChannelOfAConnectionThatEndedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, end := make(chan struct{}), make(chan struct{})
		close(lost)
		defer func() { <-end; synctest.Wait() }() // nobody is left
		time.AfterFunc(time.Hour, func() { close(end) })
		if _, _, err := openClient(&ssh.Client{Conn: deaf{end: end}}, safePacket, lost); !errors.Is(err, sftp.ErrSSHFxConnectionLost) {
			t.Errorf("openClient: %v", err)
		}
	})
}

// refusing is a connection that ends with the refusal of a channel.
type refusing struct{ ssh.Conn }

func (refusing) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	return nil, nil, &ssh.OpenChannelError{Reason: ssh.Prohibited, Message: "not here"}
}

func TestWhatWasSaidBeforeTheEndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := make(chan struct{})
		close(lost)
		_, _, err := openClient(&ssh.Client{Conn: refusing{}}, safePacket, lost)
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) {
			t.Errorf("openClient: %v", err)
		}
	})
}
