// Package rig serves a corpus over real SFTP and FTP servers on loopback and
// writes the configuration that ingests it. Tests, benchmarks and the demo
// share it.
package rig

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tributary/test/corpus"
	"tributary/test/servers"
)

// Options of a rig.
type Options struct {
	// Extra is YAML appended to the configuration.
	Extra string
	// Source is YAML of every source, a line or more, without its indentation.
	Source string
	// Local serves every source as a plain directory: for tests of what lies
	// behind the connectors.
	Local bool
	// Counted serves every source by a server in this process, which counts its
	// sessions and can cut them; see Servers.
	Counted bool
}

// Rig is a served corpus. Dir holds sources/, servers/, data/ and
// tributary.yaml.
type Rig struct {
	Dir    string
	Config string // path of the configuration
	Corpus *corpus.Corpus

	mirrors []Mirror
	stops   []func()
	faulty  map[string]*servers.FaultySFTP
}

// Servers are the servers in this process, by the sources that they host.
func (r *Rig) Servers() map[string]*servers.FaultySFTP { return r.faulty }

// Mirror is how another program reaches an SFTP source of the rig.
type Mirror struct {
	ID, Server, Path, Identity, KnownHosts string
}

// Mirrors lists the sources on real SFTP servers.
func (r *Rig) Mirrors() []Mirror { return r.mirrors }

// Start writes the corpus below dir, starts the servers it needs and writes
// the configuration. It must be stopped.
func Start(ctx context.Context, dir string, c *corpus.Corpus, o Options) (*Rig, error) {
	r := &Rig{Dir: dir, Config: filepath.Join(dir, "tributary.yaml"), Corpus: c, faulty: map[string]*servers.FaultySFTP{}}
	if err := c.Write(r.sources()); err != nil {
		return nil, err
	}
	yaml := "data_dir: ./data\nprofile: impc\n" + o.Extra + "\nsources:\n"
	for _, s := range c.Sources {
		text, err := r.serve(ctx, s, o)
		if err != nil {
			r.Stop()
			return nil, fmt.Errorf("serve %s: %w", s.ID, err)
		}
		yaml += text
	}
	if err := os.WriteFile(r.Config, []byte(yaml), 0o644); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

func (r *Rig) sources() string { return filepath.Join(r.Dir, "sources") }

// Update writes what the corpus gained.
func (r *Rig) Update() error { return r.Corpus.Write(r.sources()) }

// Deliver puts one upload where the servers show it.
func (r *Rig) Deliver(u corpus.Upload) error {
	return r.Corpus.WriteUploads(r.sources(), []corpus.Upload{u})
}

// Stop stops the servers.
func (r *Rig) Stop() {
	for i := len(r.stops) - 1; i >= 0; i-- {
		r.stops[i]()
	}
	r.stops = nil
}

// serve starts a server for one source and returns its part of the
// configuration.
func (r *Rig) serve(ctx context.Context, s corpus.Source, o Options) (string, error) {
	root := filepath.Join(r.sources(), s.ID)
	own := filepath.Join(r.Dir, "servers", s.ID)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return "", err
	}
	head := fmt.Sprintf("  - id: %s\n    centre: %s\n    hosts: [%s]\n", s.ID, s.Centre, strings.Join(r.Corpus.Hosts(s.ID), ", "))
	for line := range strings.Lines(o.Source) {
		head += "    " + strings.TrimSuffix(line, "\n") + "\n"
	}
	if o.Local && s.Fault == "" {
		return head + "    url: file://" + root + "\n", nil
	}
	protocol := s.Protocol
	if o.Counted {
		protocol = corpus.FaultySFTP
	}
	switch protocol {
	case corpus.FTP:
		v, err := servers.StartVSFTPD(ctx, servers.VSFTPDOptions{Dir: own, Root: root, Password: "reader"})
		if err != nil {
			return "", err
		}
		r.stops = append(r.stops, v.Stop)
		secret := filepath.Join(own, "password")
		if err := os.WriteFile(secret, []byte("reader\n"), 0o600); err != nil {
			return "", err
		}
		return head + "    url: " + v.URL("/") + "\n    password: file:" + secret + "\n", nil
	case corpus.FaultySFTP:
		v, err := servers.StartFaultySFTP(ctx, servers.FaultySFTPOptions{Dir: own, Root: root})
		if err != nil {
			return "", err
		}
		r.stops = append(r.stops, v.Stop)
		r.faulty[s.ID] = v
		if err := spoil(v, root, s.Fault); err != nil {
			return "", err
		}
		return head + identity(v.URL("/"), v.IdentityFile, v.KnownHosts), nil
	default:
		v, err := servers.StartSSHD(ctx, servers.SSHDOptions{Dir: own})
		if err != nil {
			return "", err
		}
		r.stops = append(r.stops, v.Stop)
		r.mirrors = append(r.mirrors, Mirror{ID: s.ID, Server: strings.TrimSuffix(v.URL(root), root), Path: root, Identity: v.IdentityFile, KnownHosts: v.KnownHosts})
		return head + identity(v.URL(root), v.IdentityFile, v.KnownHosts), nil
	}
}

func identity(url, key, known string) string {
	return fmt.Sprintf("    url: %s\n    identity_file: %s\n    known_hosts: %s\n", url, key, known)
}

// spoil lets a server misbehave for every file it hosts.
func spoil(v *servers.FaultySFTP, root, fault string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, root)), "/")
		switch fault {
		case corpus.Truncate:
			v.Truncate(rel, info.Size()/2)
		case corpus.Refuse:
			v.Refuse(rel)
		}
		return nil
	})
}
