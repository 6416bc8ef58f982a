// Package ports finds addresses for servers that can't say by themselves where they
// listen: the port is chosen before the server is started, so something else may take it
// in between. Ports that the kernel hands out, to whoever connects or listens anywhere,
// are therefore left alone.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
)

// The ports to choose from lie between those of well-known services and those that Linux
// hands out where nothing else was set.
const (
	first    = 10_000
	handedBy = 32_768
)

// tries bounds how many taken ports are passed over for one that is free.
const tries = 1000

// Free returns n addresses on loopback, such as 127.0.0.1:23517, at which nobody listened
// a moment ago.
func Free(n int) ([]netip.AddrPort, error) {
	end := handedOut()
	if end <= first+n {
		return nil, fmt.Errorf("ports: this machine hands out every port from %d on by itself (ip_local_port_range)", end)
	}
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	var found []netip.AddrPort
	var last error
	for range tries + n {
		if len(found) == n {
			return found, nil
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(end-first))))
		if err != nil {
			last = err
			continue
		}
		held, found = append(held, l), append(found, l.Addr().(*net.TCPAddr).AddrPort())
	}
	return nil, errors.Join(errors.New("ports: no free one was found"), last)
}

// handedOut is the first port that the kernel hands out by itself.
func handedOut() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return handedBy
	}
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil {
		return handedBy
	}
	return low
}
