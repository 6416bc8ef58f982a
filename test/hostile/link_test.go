package hostile

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// link is a network of two addresses whose packets go by this process, which loses some:
// what is sent to the address there arrives at the address here, and what is sent back
// comes from there. So both ends are this machine's own TCP, which sends again what was
// lost, as over any network.
type link struct {
	here, there netip.Addr
	loss        float64

	sent, lost atomic.Int64
}

// longestPacket is the size of a packet at most, as over Ethernet.
const longestPacket = 1500

// lossy makes a link that loses that share of all packets, in both directions, until the
// test ends. It takes root, and a kernel with TUN.
func lossy(t *testing.T, loss float64) *link {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: a network of one's own takes root")
	}
	// Opened so, reads end when it is closed.
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("skipped: no network of one's own: %v", err)
	}
	own, err := unix.NewIfreq("trib%d")
	if err == nil {
		own.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, own)
	}
	if err != nil {
		_ = unix.Close(fd)
		t.Skipf("skipped: no network of one's own: %v", err)
	}
	device := os.NewFile(uintptr(fd), "/dev/net/tun")
	var number byte
	for _, c := range []byte(own.Name()[len("trib"):]) {
		number = number*10 + c - '0'
	}
	// Of the net that is kept for measuring networks (RFC 2544).
	l := &link{here: netip.AddrFrom4([4]byte{198, 18, number, 1}), there: netip.AddrFrom4([4]byte{198, 18, number, 2}), loss: loss}
	if err := l.up(own.Name()); err != nil {
		_ = device.Close()
		t.Fatalf("make a network of one's own: %v", err)
	}
	var carrying sync.WaitGroup
	carrying.Go(func() { l.carry(device) })
	t.Cleanup(func() {
		_ = device.Close()
		carrying.Wait()
		t.Logf("%d of %d packets were lost", l.lost.Load(), l.sent.Load())
	})
	return l
}

// up gives the device its addresses, and has the kernel use it.
func (l *link) up(device string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	set := func(what uint, with func(*unix.Ifreq) error) error {
		r, err := unix.NewIfreq(device)
		if err == nil {
			err = with(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(s, what, r)
		}
		return err
	}
	address := func(a netip.Addr) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { return r.SetInet4Addr(a.AsSlice()) }
	}
	return errors.Join(
		set(unix.SIOCSIFADDR, address(l.here)), set(unix.SIOCSIFDSTADDR, address(l.there)),
		set(unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(longestPacket); return nil }),
		set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }))
}

// carry brings packets back as those of the other end, or loses them. Checksums stay: they
// are sums, in which both addresses stand.
func (l *link) carry(device *os.File) {
	b := make([]byte, longestPacket)
	for {
		n, err := device.Read(b)
		if err != nil {
			return
		}
		if n < 20 || b[0]>>4 != 4 {
			continue // of IPv6, which nobody asked for
		}
		if l.sent.Add(1); rand.Float64() < l.loss { //nolint:gosec // which are lost needs no secret
			l.lost.Add(1)
			continue
		}
		from := binary.BigEndian.Uint32(b[12:])
		copy(b[12:16], b[16:20])
		binary.BigEndian.PutUint32(b[16:], from)
		if _, err := device.Write(b[:n]); err != nil {
			return
		}
	}
}
