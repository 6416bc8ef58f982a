package ports_test

import (
	"net"
	"testing"

	"tributary/test/ports"
)

// What was found can be listened at, each by another, and none is a port that the kernel
// hands out to those who ask for any.
func TestFree(t *testing.T) {
	found, err := ports.Free(50)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 50 {
		t.Fatalf("%d addresses, want 50", len(found))
	}
	anyPort, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer anyPort.Close()
	for _, address := range found {
		l, err := net.Listen("tcp", address.String())
		if err != nil {
			t.Error(err)
			continue
		}
		defer l.Close()
		if given := anyPort.Addr().(*net.TCPAddr).AddrPort().Port(); address.Port() >= 32_768 && given >= 32_768 {
			t.Errorf("%s is a port that the kernel hands out", address)
		}
	}
}
