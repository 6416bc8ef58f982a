package sftp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

const large = 1 << 20

// faultyWorld is a faulty server with three small files and a large one.
func faultyWorld(t *testing.T) (*servers.FaultySFTP, string, map[string][]byte) {
	t.Helper()
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	files := map[string][]byte{}
	for name, n := range map[string]int{"a.zip": 1000, "b.zip": 20_000, "c.zip": 20_000, "large.zip": large} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i % 251)
		}
		files[name] = data
		if err := os.WriteFile(filepath.Join(remotetest.Mkdir(t, filepath.Join(dir, "add")), name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return faulty(t, dir), dir, files
}

func TestTruncatedFileDeliversWhatIsThere(t *testing.T) {
	srv, _, files := faultyWorld(t)
	srv.Truncate("add/a.zip", 100)
	srv.Truncate("add/large.zip", large/2+7)
	s := remotetest.Dial(t, keyConfig(srv))
	for name, want := range map[string]int{"a.zip": 100, "large.zip": large/2 + 7} {
		e, err := s.Stat(t.Context(), "add/"+name)
		if err != nil || e.Size != int64(len(files[name])) {
			t.Errorf("%s: stat %+v, %v; want the full size", name, e, err)
		}
		got, err := remotetest.Download(t.Context(), s, "add/"+name, e.Size)
		if err != nil || !bytes.Equal(got, files[name][:want]) {
			t.Errorf("%s: %d bytes, %v; want the first %d", name, len(got), err, want)
		}
	}
}

func TestShortReadsLeaveNoHoles(t *testing.T) {
	srv, _, files := faultyWorld(t)
	for name := range files {
		srv.ShortReads("add/"+name, 700)
	}
	s := remotetest.Dial(t, keyConfig(srv))
	for name, want := range files {
		got, err := remotetest.Download(t.Context(), s, "add/"+name, int64(len(want)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
	}
}

func TestGrownFileIsDeliveredWhole(t *testing.T) {
	srv, _, files := faultyWorld(t)
	more := []byte("more than was listed")
	listed := map[string]remote.Entry{}
	s := remotetest.Dial(t, keyConfig(srv))
	for name := range files {
		srv.GrowAfterList("add/"+name, more)
	}
	if err := s.List(t.Context(), "add", func(e remote.Entry) error { listed[e.Name] = e; return nil }); err != nil {
		t.Fatal(err)
	}
	for name, before := range files {
		if listed[name].Size != int64(len(before)) {
			t.Fatalf("%s is listed with %d bytes", name, listed[name].Size)
		}
		got, err := remotetest.Download(t.Context(), s, "add/"+name, listed[name].Size)
		if want := append(bytes.Clone(before), more...); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
		after, err := s.Stat(t.Context(), "add/"+name)
		if err != nil || after.Size == listed[name].Size || after.ModTime.Equal(listed[name].ModTime) {
			t.Errorf("%s: stat afterwards %+v, %v; want another size and time", name, after, err)
		}
	}
}

func TestRefusedAndGone(t *testing.T) {
	srv, _, _ := faultyWorld(t)
	srv.Refuse("add/a.zip")
	srv.Refuse("add/large.zip")
	srv.Gone("add/b.zip")
	srv.Refuse("delete")
	if _, err := os.Stat(srv.KnownHosts); err != nil {
		t.Fatal(err)
	}
	s := remotetest.Dial(t, keyConfig(srv))
	for name, want := range map[string]string{"a.zip": "permission_denied", "large.zip": "permission_denied", "b.zip": "file_gone"} {
		for _, hint := range []int64{100, large} {
			_, err := remotetest.Download(t.Context(), s, "add/"+name, hint)
			if remote.Exception(err) != want || remote.SessionLost(err) {
				t.Errorf("%s: %v (%s), want %s", name, err, remote.Exception(err), want)
			}
		}
	}
	err := s.List(t.Context(), "delete", func(remote.Entry) error { return nil })
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("list: %v, want permission denied", err)
	}
	if _, err := remotetest.Download(t.Context(), s, "add/c.zip", 20_000); err != nil {
		t.Errorf("the next file: %v", err)
	}
}

func TestConnectionLostMidTransfer(t *testing.T) {
	for name, hint := range map[string]int64{"large.zip": large, "b.zip": 20_000} {
		t.Run(name, func(t *testing.T) {
			srv, _, _ := faultyWorld(t)
			srv.CloseAfter("add/"+name, hint/2)
			s := remotetest.Dial(t, keyConfig(srv))
			_, err := remotetest.Download(t.Context(), s, "add/"+name, hint)
			if remote.Exception(err) != "connection_lost" || !remote.SessionLost(err) {
				t.Errorf("download: %v (%s), want connection_lost", err, remote.Exception(err))
			}
			if _, err := remotetest.Download(t.Context(), s, "add/a.zip", 1000); remote.Exception(err) != "connection_lost" {
				t.Errorf("next download: %v (%s), want connection_lost", err, remote.Exception(err))
			}
			if err := s.List(t.Context(), "add", func(remote.Entry) error { return nil }); remote.ClassOf(err) != remote.Connection {
				t.Errorf("list: %v, want a lost connection", err)
			}
		})
	}
}

func TestSilentServerTimesOut(t *testing.T) {
	for name, hint := range map[string]int64{"large.zip": large, "b.zip": 20_000} {
		srv, _, _ := faultyWorld(t)
		srv.Stall("add/" + name)
		c := keyConfig(srv)
		c.IdleTimeout = time.Second
		s := remotetest.Dial(t, c)
		if _, err := remotetest.Download(t.Context(), s, "add/"+name, hint); remote.Exception(err) != "timed_out" || !remote.SessionLost(err) {
			t.Errorf("%s: %v (%s), want timed_out", name, err, remote.Exception(err))
		}
	}
}

// A session that nobody waits for may be silent for longer than the idle time.
func TestSilenceBetweenRequestsIsNoFault(t *testing.T) {
	srv, _, _ := faultyWorld(t)
	c := keyConfig(srv)
	// A silence that ends sessions ends each.
	wait.Longer(t, 50*time.Millisecond, func(silence time.Duration) error {
		c.IdleTimeout = silence
		return afterSilence(t, c)
	})
}

// afterSilence reads a file of a session that was silent for twice its idle time.
func afterSilence(t *testing.T, c remote.Config) error {
	t.Helper()
	s, err := connectors.All().Dial(t.Context(), c)
	if err != nil {
		return err
	}
	defer s.Close()
	quiet := time.NewTimer(2 * c.IdleTimeout)
	defer quiet.Stop()
	<-quiet.C
	_, err = remotetest.Download(t.Context(), s, "add/a.zip", 1000)
	return err
}

func TestCancelledReadReturns(t *testing.T) {
	for name, hint := range map[string]int64{"large.zip": large, "b.zip": 20_000} {
		srv, _, _ := faultyWorld(t)
		srv.Stall("add/" + name)
		s := remotetest.Dial(t, keyConfig(srv))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := remotetest.Download(ctx, s, "add/"+name, hint)
			done <- err
		}()
		// Cancelled while the server holds the answer back.
		for srv.Opens() == 0 {
			runtime.Gosched()
		}
		cancel()
		if err := <-done; remote.Exception(err) != "cancelled" {
			t.Errorf("%s: %v (%s), want cancelled", name, err, remote.Exception(err))
		}
	}
}

func TestHostileListing(t *testing.T) {
	srv, _, _ := faultyWorld(t)
	names := []string{"../../etc/passwd", "x/y.zip", "..", "nul\x00.zip", ""}
	for i, name := range names {
		m := fstest.MapFS{"f": &fstest.MapFile{Data: make([]byte, i)}}
		info, err := fs.Stat(m, "f")
		if err != nil {
			t.Fatal(err)
		}
		srv.Pretend("add", named{info, name})
	}
	got := map[string]remote.Kind{}
	s := remotetest.Dial(t, keyConfig(srv))
	if err := s.List(t.Context(), "add", func(e remote.Entry) error { got[e.Name] = e.Kind; return nil }); err != nil {
		t.Fatal(err)
	}
	for name, kind := range got {
		if (kind == remote.File) != (len(name) > 4 && name[1:] == ".zip" || name == "large.zip") {
			t.Errorf("%q is a %s", name, kind)
		}
	}
	if _, ok := got[".."]; ok {
		t.Error(".. is listed")
	}
}

type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// Nothing leaks, whatever fails: sessions end, and the slots of a session come
// back.
func TestManyFailuresLeakNothing(t *testing.T) {
	srv, _, files := faultyWorld(t)
	srv.Refuse("add/a.zip")
	srv.Gone("add/b.zip")
	s := remotetest.Dial(t, keyConfig(srv))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("add/%c.zip", 'a'+(i+j)%3)
				got, err := remotetest.Download(t.Context(), s, name, 20_000)
				if name == "add/c.zip" && (err != nil || !bytes.Equal(got, files["c.zip"])) {
					t.Errorf("%s: %d bytes, %v", name, len(got), err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, most, total := srv.Sessions(); most != 1 || total != 1 {
		t.Errorf("%d sessions at once, %d in all; want one", most, total)
	}
}
