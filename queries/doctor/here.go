package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/remote/connectors"
	"tributary/internal/watch"
	"tributary/schemas"
)

// endsSoon is how long before its end a certificate is warned of.
const endsSoon = 14 * 24 * time.Hour

// here are the checks of what is on this machine.
func here(d Deps) []check {
	return []check{
		{"config", func(_ context.Context, r *report) {
			r.ok("configuration", "%s: %d sources, profile %s", d.Config.Path, len(d.Config.Sources), d.Config.Profile)
		}},
		{"secrets", d.secrets}, {"files", d.files}, {"directories", d.directories}, {"ports", d.ports}, {"watches", d.watches},
	}
}

// secretsIn are what must not be shown of a secret: all of it or, where it is an
// address, its password, as it is written there and as it is meant.
func secretsIn(value string) []string {
	head, rest, isURL := strings.Cut(value, "://")
	if !isURL || strings.ContainsAny(head, " \t@") {
		return []string{value}
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		// It may be in the query, as ClickHouse's and Postgres' are.
		if u, err := url.Parse(value); err == nil && u.Query().Get("password") != "" {
			return []string{u.Query().Get("password"), url.QueryEscape(u.Query().Get("password"))}
		}
		return nil
	}
	_, password, _ := strings.Cut(authority[:at], ":")
	plain, err := url.PathUnescape(password)
	if err != nil {
		plain = password
	}
	return []string{password, plain}
}

// secrets finds out whether every reference leads somewhere, and who can read it.
func (d Deps) secrets(_ context.Context, r *report) {
	good := 0
	for _, s := range d.Config.Secrets() {
		if _, err := s.Secret.Resolve(); err != nil {
			r.found(SecretUnresolved, s.Key, "correct "+s.Key+", or put the secret where it says", "%s", err)
			continue
		}
		good++
		if path, is := strings.CutPrefix(string(s.Secret), "file:"); is && !strings.HasPrefix(path, "//") {
			closed(r, s.Key, path)
		}
	}
	if good > 0 {
		r.ok("secrets", "%d can be read", good)
	}
}

// closed finds out whether a file is its owner's alone.
func closed(r *report, key, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		r.found(SecretOpen, key, "chmod 600 "+path, "%s has the mode %#o: others can read it", path, info.Mode().Perm())
	}
}

// files finds out whether keys and certificates can be used.
func (d Deps) files(_ context.Context, r *report) {
	good := 0
	for _, f := range d.Config.Files() {
		text, err := os.ReadFile(f.Path)
		if err != nil {
			r.found(FileUnreadable, f.Key, "correct "+f.Key+", or put the file there and give this user the right to read it", "%s", err)
			continue
		}
		good++
		if f.Private {
			closed(r, f.Key, f.Path)
		}
		if strings.HasSuffix(f.Key, "ca_file") && !x509.NewCertPool().AppendCertsFromPEM(text) {
			r.found(CertificateInvalid, f.Key, "write certificates in PEM form into it", "%s holds no certificate in PEM form", f.Path)
		}
	}
	d.certificate(r, "kafka.tls", d.Config.Kafka.TLS.CertFile, d.Config.Kafka.TLS.KeyFile)
	d.certificate(r, "web", d.Config.Web.CertFile, d.Config.Web.KeyFile)
	if d.Config.Web.Insecure && d.Config.Web.CertFile == "" && d.Config.Web.Listen != "" && d.Config.Web.Listen != config.NoWeb {
		r.found(WebWithoutTLS, "web.insecure", "give web.cert_file and web.key_file, or serve a proxy on loopback and take web.insecure out", "passwords and sessions of %s can be read on the way", d.Config.Web.Listen)
	}
	if good > 0 {
		r.ok("files", "%d can be read", good)
	}
}

// certificate finds out whether a certificate fits its key and still holds.
func (d Deps) certificate(r *report, key, cert, private string) {
	if cert == "" || private == "" {
		return
	}
	if _, err := os.Stat(cert); err != nil {
		return // said of the files
	}
	if _, err := os.Stat(private); err != nil {
		return
	}
	pair, err := tls.LoadX509KeyPair(cert, private)
	if err != nil {
		r.found(CertificateInvalid, key+".cert_file", "give the certificate and the private key that belong together, both in PEM form", "%s and %s: %s", cert, private, err)
		return
	}
	switch ends, now := pair.Leaf.NotAfter.UTC(), d.Now(); {
	case now.After(ends) || now.Before(pair.Leaf.NotBefore):
		r.found(CertificateInvalid, key+".cert_file", "get a new one from whoever issued it", "%s holds from %s to %s only", cert, pair.Leaf.NotBefore.UTC().Format(time.RFC3339), ends.Format(time.RFC3339))
	case ends.Sub(now) < endsSoon:
		r.found(CertificateEnds, key+".cert_file", "get a new one from whoever issued it", "%s ends at %s", cert, ends.Format(time.RFC3339))
	default:
		r.ok(key+".cert_file", "%s holds until %s", cert, ends.Format(time.RFC3339))
	}
}

// directories looks at where data lies.
func (d Deps) directories(_ context.Context, r *report) {
	data := d.Config.DataDir
	if d.directory(r, "data_dir", data) {
		info, err := os.Stat(data)
		if err == nil && info.Mode().Perm()&0o066 != 0 {
			r.found(DirOpen, "data_dir", "chmod 700 "+data, "%s has the mode %#o: others can look into it", data, info.Mode().Perm())
		}
		d.room(r, "data_dir", data)
	}
	blobs := d.Config.Blobs.Dir
	if blobs == filepath.Join(data, "blobs") {
		if _, err := os.Stat(blobs); errors.Is(err, fs.ErrNotExist) {
			return // made with the first start
		}
	}
	if d.directory(r, "blobs.dir", blobs) {
		d.room(r, "blobs.dir", blobs)
	}
	if !d.embedded().Kafka {
		return
	}
	l, err := engine.BrokerLog(data, d.Config.Kafka.LogAlarmShare)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.failed("kafka.log_alarm_share", err)
	case l.Alarm() != "":
		r.found(LogLarge, "kafka.log_alarm_share", "move to Apache Kafka: docs/how-to/move-to-apache-kafka.md", "%s", l.Alarm())
	}
}

// directory finds out whether files can be made in a directory. It tells whether it
// is there.
func (d Deps) directory(r *report, key, path string) bool {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.found(DirMissing, key, "start tributary up, or correct "+key, "%s is not there", path)
		return false
	case err != nil || !info.IsDir():
		r.found(DirUnusable, key, "correct "+key, "%s is no directory that can be looked at", path)
		return false
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is && int(owner.Uid) != os.Geteuid() {
		r.found(DirForeign, key, fmt.Sprintf("start Tributary as the account that owns it, or chown -R %d %s", os.Geteuid(), path), "%s belongs to the account %d, and this is %d", path, owner.Uid, os.Geteuid())
	}
	f, err := os.CreateTemp(path, ".doctor-")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		r.found(DirUnusable, key, "give this account the right to write there, or correct "+key, "no file can be made in %s: %s", path, err)
		return true
	}
	r.ok(key, "%s can be written", path)
	return true
}

// watches finds out whether changes in local directories will be seen as they happen.
func (d Deps) watches(_ context.Context, r *report) {
	var dirs []string
	for _, s := range d.Config.Sources {
		t, err := connectors.All().ParseURL(s.URL)
		if err != nil || t.Scheme != "file" {
			continue
		}
		for _, action := range schemas.Actions() {
			dirs = append(dirs, filepath.Join(t.Base, action))
		}
	}
	switch err := watch.Room(dirs); {
	case len(dirs) == 0:
	case err == nil:
		r.ok("local directories", "changes in %d of them can be seen as they happen", len(dirs))
	case watch.StateOf(err) == watch.Exhausted:
		r.found(WatchesExhausted, "local directories", "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl, or end what else of this account watches files; until then such sources are polled by their interval alone", "changes in %d of them can't all be seen as they happen: %s", len(dirs), err)
	default:
		r.ok("local directories", "whether changes in them can be seen was not tried: %s", err)
	}
}
