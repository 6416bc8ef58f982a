package ftp_test

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

// A server is who its certificate says, for those whom we trust, and nothing is said
// to another: neither who logs in, nor with what.
func TestFTPSVerifiesTheServer(t *testing.T) {
	for _, scheme := range []string{"ftpes", "ftps"} {
		ftpd, err := servers.StartVSFTPD(t.Context(), servers.VSFTPDOptions{Dir: t.TempDir(), Root: t.TempDir(), Password: "s3cret", TLS: scheme})
		servers.Need(t, err)
		t.Cleanup(ftpd.Stop)
		if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: ftpd.URL("/"), Password: "s3cret"}); remote.Exception(err) != "certificate_not_trusted" || remote.ClassOf(err) != remote.HostKey {
			t.Errorf("%s: nobody vouches for it: %v (%s)", scheme, err, remote.Exception(err))
		}
		// The certificate is of 127.0.0.1 and localhost.
		url := strings.Replace(ftpd.URL("/"), "127.0.0.1", "127.0.0.2", 1)
		if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: url, Password: "s3cret", CAFile: ftpd.CAFile}); err == nil {
			t.Errorf("%s: another's certificate is taken", scheme)
		}
		_, err = connectors.All().Dial(t.Context(), remote.Config{URL: ftpd.URL("/"), Password: "wrong", CAFile: ftpd.CAFile})
		if remote.Exception(err) != "login_failed" {
			t.Errorf("%s: a wrong password: %v (%s)", scheme, err, remote.Exception(err))
		}
		plain := strings.Replace(ftpd.URL("/"), "ftpes://", "ftp://", 1)
		if _, err := connectors.All().Dial(t.Context(), remote.Config{URL: plain, Password: "s3cret"}); err == nil {
			t.Errorf("%s: it lets in who doesn't encrypt: the tests prove nothing", scheme)
		}
	}
}

// tlsScript plays a server of FTP within TLS, which says on a connection what the test
// says, and returns all that it was told.
func tlsScript(t *testing.T, play func(conn net.Conn, in *bufio.Reader, config *tls.Config)) remote.Config {
	t.Helper()
	vouches := httptest.NewUnstartedServer(nil)
	vouches.StartTLS()
	t.Cleanup(vouches.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				play(conn, bufio.NewReader(conn), &tls.Config{Certificates: vouches.TLS.Certificates})
			}()
		}
	}()
	ca := remotetest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: vouches.Certificate().Raw})))
	return remote.Config{URL: "ftpes://reader@" + l.Addr().String() + "/", Password: "s3cret", CAFile: ca, IdleTimeout: wait.Patience()}
}

// Where a server doesn't encrypt, or only seems to, nothing secret is sent.
func TestFTPSSendsNothingInTheClear(t *testing.T) {
	for about, tt := range map[string]struct {
		greeting, answer string
		encrypts         bool
		prot             string
		want             string
	}{
		"it refuses AUTH TLS":                {"220 hello\r\n", "502 no\r\n", false, "", "encryption_refused"},
		"it refuses the connection":          {"500 go away\r\n", "", false, "", "login_failed"},
		"it has no room":                     {"421 too many connections\r\n", "", false, "", "server_busy"},
		"somebody speaks before it encrypts": {"220 hello\r\n", "234 go on\r\n230 you are in\r\n", true, "", "protocol_error"},
		"it says 234 and goes on in clear":   {"220 hello\r\n", "234 go on\r\n", false, "", "protocol_error"},
		"it refuses PROT P":                  {"220 hello\r\n", "234 go on\r\n", true, "534 no", "encryption_refused"},
		"it hangs up":                        {"220 hello\r\n", "", false, "", "connection_lost"},
	} {
		t.Run(about, func(t *testing.T) {
			told := make(chan string, 100)
			c := tlsScript(t, func(conn net.Conn, in *bufio.Reader, config *tls.Config) {
				_, _ = io.WriteString(conn, tt.greeting)
				line, _ := in.ReadString('\n')
				told <- strings.TrimSpace(line)
				if tt.answer == "" {
					return
				}
				_, _ = io.WriteString(conn, tt.answer)
				if !tt.encrypts {
					_, _ = io.WriteString(conn, "331 password, please\r\n")
					rest, _ := io.ReadAll(io.LimitReader(conn, 3000))
					told <- string(rest)
					return
				}
				encrypted := tls.Server(conn, config)
				for lines := bufio.NewScanner(encrypted); lines.Scan(); {
					reply := "200 ok"
					if strings.HasPrefix(lines.Text(), "PROT") {
						reply = tt.prot
					}
					if strings.HasPrefix(lines.Text(), "PASS") {
						reply = "230 in"
					}
					if strings.HasPrefix(lines.Text(), "USER") {
						reply = "331 password"
					}
					if _, err := fmt.Fprintf(encrypted, "%s\r\n", reply); err != nil {
						return
					}
				}
			})
			_, err := connectors.All().Dial(t.Context(), c)
			if remote.Exception(err) != tt.want {
				t.Errorf("dial: %v (%s), want %s", err, remote.Exception(err), tt.want)
			}
			remotetest.Fit(t, err)
			if first := <-told; first != "AUTH TLS" && tt.answer != "" {
				t.Errorf("it was told %q first", first)
			}
			select {
			case more := <-told:
				if strings.Contains(more, "reader") || strings.Contains(more, "s3cret") {
					t.Errorf("it was told in the clear: %q", more)
				}
			default:
			}
		})
	}
}

// A listing that somebody cuts between two records of TLS is no listing: only the
// end within TLS is one.
func TestFTPSListingsCutOnTheWay(t *testing.T) {
	for about, whole := range map[string]bool{"whole": true, "cut": false} {
		t.Run(about, func(t *testing.T) {
			c := tlsScript(t, func(conn net.Conn, in *bufio.Reader, config *tls.Config) {
				_, _ = io.WriteString(conn, "220 hello\r\n")
				if _, err := in.ReadString('\n'); err != nil {
					return
				}
				_, _ = io.WriteString(conn, "234 go on\r\n")
				serveEncrypted(tls.Server(conn, config), config, whole)
			})
			s, err := connectors.All().Dial(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var names []string
			err = s.List(t.Context(), "add", func(e remote.Entry) error { names = append(names, e.Name); return nil })
			if whole != (err == nil) || len(names) != 1 || !whole && !remote.SessionLost(err) {
				t.Errorf("it lists %v, %v", names, err)
			}
		})
	}
}

// serveEncrypted serves one listing, which it ends as TLS says, or not.
func serveEncrypted(control *tls.Conn, config *tls.Config, whole bool) {
	var data net.Listener
	replies := map[string]string{"USER": "331 password", "PASS": "230 in", "FEAT": "211-F\r\n MLST type*;size*;\r\n EPSV\r\n211 End", "PWD": `257 "/"`, "PBSZ": "200 ok", "PROT": "200 ok", "TYPE": "200 ok", "OPTS": "200 ok", "CWD": "250 ok"}
	for lines := bufio.NewScanner(control); lines.Scan(); {
		verb := strings.Fields(lines.Text())[0]
		reply := replies[verb]
		switch verb {
		case "EPSV":
			var err error
			if data, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return
			}
			reply = fmt.Sprintf("229 ok (|||%d|)", data.Addr().(*net.TCPAddr).Port)
		case "MLSD":
			if _, err := io.WriteString(control, "150 here\r\n"); err != nil {
				return
			}
			if err := sendListing(data, config, whole); err != nil {
				return
			}
			reply = "226 done"
		case "":
			return
		}
		if _, err := fmt.Fprintf(control, "%s\r\n", reply); err != nil {
			return
		}
	}
}

func sendListing(l net.Listener, config *tls.Config, whole bool) error {
	defer l.Close()
	raw, err := l.Accept()
	if err != nil {
		return err
	}
	encrypted := tls.Server(raw, config)
	_, err = io.WriteString(encrypted, "type=file;size=4; a.zip\r\n")
	if whole {
		return errors.Join(err, encrypted.Close())
	}
	return errors.Join(err, raw.Close())
}
