package scaleout

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/child"
	"tributary/internal/engine/enginetest"
	"tributary/internal/engine/install"
	"tributary/test/kafka"
	"tributary/test/ports"
)

// patience ends a test that hangs; nothing that is waited for takes as long.
const patience = 10 * time.Minute

// administrator is the password of those who administer the servers here.
const administrator = "administrators-secret"

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// certificate writes a certificate for localhost that is its own authority, and
// its key.
func certificate(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, from, from, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	write(t, filepath.Join(dir, "ca.pem"), certificate, 0o644)
	return certificate, key
}

// startPostgres starts a Postgres that lets in who comes by TLS with a password,
// and returns its port.
func startPostgres(t *testing.T, dir, certificate, key string) string {
	t.Helper()
	found, err := install.Locate("")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Postgres) == 0 {
		enginetest.Missing(t, "Postgres")
	}
	bin := found.Postgres[0].BinDir
	own := filepath.Join(dir, "postgres")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		as.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(own, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	give := func(name, text string) string {
		path := filepath.Join(own, name)
		write(t, path, text, 0o600)
		if as.Credential != nil {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	data := filepath.Join(own, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", give("password", administrator+"\n"), "--no-sync", "--locale=C.UTF-8", "-E", "UTF8")
	initdb.Dir, initdb.SysProcAttr = own, as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-c", "listen_addresses=localhost", "-c", "port="+port, "-c", "unix_socket_directories=", "-c", "max_connections=200",
		"-c", "ssl=on", "-c", "ssl_cert_file="+give("server.pem", certificate), "-c", "ssl_key_file="+give("server.key", key), "-c", "hba_file="+give("hba.conf", "hostssl all all all scram-sha-256\n"), "-c", "fsync=off")
	server.Dir, server.SysProcAttr = own, as
	begin(t, server, filepath.Join(dir, "postgres.log"), syscall.SIGINT)
	await(t, "Postgres", func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, "postgres://postgres:"+administrator+"@localhost:"+port+"/postgres?sslmode=verify-full&sslrootcert="+filepath.Join(dir, "etc", "ca.pem"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	return port
}

func freePort(t *testing.T) string {
	t.Helper()
	found, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(int(found[0].Port()))
}

// begin starts a process whose words go to a file, and ends it with the test.
func begin(t *testing.T, cmd *exec.Cmd, log string, end syscall.Signal) *child.Process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	p, err := child.Start(cmd, end)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(end)
		over := time.AfterFunc(time.Minute, func() { p.Signal(syscall.SIGKILL) })
		defer over.Stop()
		<-p.Done()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("the end of %s:\n%s", filepath.Base(log), text[max(0, len(text)-2000):])
		}
	})
	return p
}

// await asks until there is no error.
func await(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still waiting for %s after %s: %v", what, patience, err)
		case <-tick.C:
		}
	}
}

// startKafka starts three brokers and writes what their administrator logs in
// with, and the tools as Kafka's own scripts are called.
func startKafka(t *testing.T, dir, certificate, key string) []string {
	t.Helper()
	keystore := filepath.Join(dir, "broker.pem")
	write(t, keystore, key+certificate, 0o600)
	c, addresses, err := kafka.StartSecure(t.Context(), filepath.Join(dir, "kafka"), 3, keystore, administrator)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	write(t, filepath.Join(dir, "admin.properties"), strings.Join([]string{"security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "ssl.truststore.type=PEM", "ssl.truststore.location=" + filepath.Join(dir, "etc", "ca.pem"),
		fmt.Sprintf(`sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="%s";`, administrator), ""}, "\n"), 0o600)
	for script, class := range map[string]string{"kafka-acls.sh": "org.apache.kafka.tools.AclCommand", "kafka-configs.sh": "kafka.admin.ConfigCommand"} {
		line, err := kafka.Tool(class, os.Getenv("TRIBUTARY_KAFKA_TOOLS"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "bin", script), "#!/bin/sh\nexec "+line+` "$@"`+"\n", 0o755)
	}
	return addresses
}
