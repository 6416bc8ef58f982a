package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// requestTimeout bounds one request.
const requestTimeout = 15 * time.Second

// restoreTimeout bounds the way back to READWRITE when the work was cancelled.
const restoreTimeout = 20 * time.Second

// Options say where the registry is and who asks.
type Options struct {
	URL      string // http:// or https://, without a password
	Username string // empty: no authentication
	Password string
	CAFile   string // the authorities to trust, PEM; empty: the system's
}

// Registry is a schema registry. It is not safe for concurrent use.
type Registry struct {
	client    *sr.Client
	address   string // for messages
	importing bool   // the whole registry is in IMPORT, so subjects need no mode of their own
}

// New makes a client of the registry. Nothing is asked yet.
func New(o Options) (*Registry, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the schema registry's address can't be read: write http://host:8081 or https://host")
	}
	if u.User != nil {
		return nil, errors.New("the schema registry's address holds a user: write it into schema_registry.username and schema_registry.password")
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default HTTP transport has been replaced")
	}
	transport = transport.Clone()
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("schema_registry.ca_file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("schema_registry.ca_file: %s holds no certificate in PEM", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	opts := []sr.ClientOpt{
		sr.URLs(u.String()), sr.UserAgent("tributary"),
		sr.HTTPClient(&http.Client{Transport: transport, Timeout: requestTimeout}),
	}
	if o.Username != "" {
		opts = append(opts, sr.BasicAuth(o.Username, o.Password))
	}
	client, err := sr.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client of the schema registry: %w", err)
	}
	return &Registry{client: client, address: u.Redacted()}, nil
}

// Apply registers what the registry lacks, with the ids and versions of the
// items, and sets each subject's compatibility. done is told every change as
// it is made. It may be repeated: what is there already is left alone. A
// subject that was put into IMPORT goes back to READWRITE whatever happens.
func (r *Registry) Apply(ctx context.Context, items []Item, done func(Change)) error {
	subjects, err := r.subjects(ctx, items)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if err := r.applySubject(ctx, s, done); err != nil {
			return err
		}
	}
	left, err := r.Plan(ctx, items)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("the schema registry %s took every change, and yet it lacks: %s; does somebody else change it?", r.address, left[0])
	}
	return nil
}

func (r *Registry) applySubject(ctx context.Context, s subject, done func(Change)) error {
	for _, c := range s.changes(r.importing) {
		var err error
		switch c.Kind {
		case Register:
			continue // below, all in one stretch of IMPORT
		case SetMode:
			err = r.setMode(ctx, s.name, sr.ModeReadWrite, false)
		case SetCompatibility:
			continue // once the subject exists
		}
		if err != nil {
			return err
		}
		done(c)
	}
	if len(s.missing) > 0 {
		if err := r.register(ctx, s, done); err != nil {
			return err
		}
	}
	if s.compatibility != Compatibility.String() {
		if got := r.client.SetCompatibility(ctx, sr.SetCompatibility{Level: Compatibility}, s.name)[0]; got.Err != nil {
			return r.explain("set the compatibility of "+s.name, got.Err)
		}
		done(Change{Kind: SetCompatibility, Subject: s.name, From: s.compatibility, To: Compatibility.String()})
	}
	return nil
}

// register registers what a subject lacks while its mode is IMPORT.
func (r *Registry) register(ctx context.Context, s subject, done func(Change)) (err error) {
	if !r.importing {
		// A subject that has versions goes into IMPORT only when forced.
		if err := r.setMode(ctx, s.name, sr.ModeImport, s.exists); err != nil {
			return err
		}
		defer func() {
			back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
			defer cancel()
			if rerr := r.setMode(back, s.name, sr.ModeReadWrite, false); rerr != nil {
				err = errors.Join(err, fmt.Errorf("%w; its mode is still IMPORT: run schemas register again", rerr))
			}
		}()
	}
	for _, i := range s.missing {
		schema := sr.Schema{Schema: i.Schema.String(), Type: sr.TypeAvro}
		id, err := r.client.RegisterSchema(ctx, s.name, schema, i.ID, i.Version)
		if err != nil {
			return r.explain(fmt.Sprintf("register %s version %d with id %d", s.name, i.Version, i.ID), err)
		}
		if id != i.ID {
			wrong := &WrongID{Registry: r.address, Item: i, Got: id}
			return errors.Join(wrong, r.remove(ctx, s, schema))
		}
		done(Change{Kind: Register, Subject: s.name, Version: i.Version, ID: i.ID})
	}
	return nil
}

// remove takes back the version that was just registered with a wrong id.
func (r *Registry) remove(ctx context.Context, s subject, schema sr.Schema) error {
	there, err := r.client.LookupSchema(ctx, s.name, schema)
	if err != nil {
		return r.explain("find what was registered in "+s.name, err)
	}
	for _, how := range []sr.DeleteHow{sr.SoftDelete, sr.HardDelete} {
		if err := r.client.DeleteSchema(ctx, s.name, there.Version, how); err != nil {
			return r.explain(fmt.Sprintf("remove version %d of %s", there.Version, s.name), err)
		}
	}
	return nil
}

func (r *Registry) setMode(ctx context.Context, name string, mode sr.Mode, force bool) error {
	if force {
		ctx = sr.WithParams(ctx, sr.Force)
	}
	if got := r.client.SetMode(ctx, mode, name)[0]; got.Err != nil {
		return r.explain(fmt.Sprintf("set the mode of %s to %s", name, mode), got.Err)
	}
	return nil
}
