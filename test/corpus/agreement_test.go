package corpus

import (
	"bytes"
	"context"
	"testing"

	"tributary/internal/profile"
	"tributary/internal/xsdcheck"
)

// The oracle speaks of exceptions by name. This holds its names, and the lines
// it gives, against the parts of the pipeline that a document meets on its way
// to upload, without the pipeline itself.
func TestNamesOfTheOracleAreThoseOfTheProfile(t *testing.T) {
	p, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	centres, err := profile.NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]*xsdcheck.Schema{}
	for _, k := range p.Kinds {
		fsys, entry, err := p.SchemaFS(k.Name)
		if err != nil {
			t.Fatal(err)
		}
		if engines[k.Name], err = xsdcheck.Compile(fsys, entry); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(4) {
		for _, shape := range []string{Demo, Faults} {
			c := generate(t, Options{Seed: seed, Shape: shape})
			ends := map[string]DocEnd{}
			for _, d := range c.Oracle.Documents {
				ends[d.Action+d.File+d.Document] = d
			}
			for i, f := range c.files {
				want := c.Oracle.Files[i]
				name, bad := p.ParseZip(f.name, centres)
				switch {
				case bad != nil && (want.Phase != "zip_name" || bad.Exception != want.Exceptions[0]):
					t.Errorf("%s: %s, the oracle says %s %v", f.name, bad.Exception, want.Phase, want.Exceptions)
				case bad == nil && (want.Centre == nil || *want.Centre != name.Centre || !name.Date.Equal(f.date) || name.Increment != int64(f.inc)):
					t.Errorf("%s: %+v, the oracle says %+v", f.name, name, want)
				}
				for _, d := range f.docs {
					if want, shown := ends[f.action+f.name+d.name]; shown {
						meet(t, p, centres, engines, d, want)
					}
				}
			}
		}
	}
}

func meet(t *testing.T, p *profile.Profile, centres profile.Centres, engines map[string]*xsdcheck.Schema, d *document, want DocEnd) {
	t.Helper()
	name, bad := p.ParseDocument(d.name, centres)
	if bad != nil || want.Phase == "xml_name" {
		if bad == nil || want.Phase != "xml_name" || bad.Exception != want.Errors[0].Exception {
			t.Errorf("%s: %v, the oracle says %s %v", d.name, bad, want.Phase, want.Errors)
		}
		return
	}
	if name.Kind != d.kind || !name.Date.Equal(d.date) || name.Increment != int64(d.inc) {
		t.Errorf("%s: %+v, meant %s %s %d", d.name, name, d.kind, d.date, d.inc)
	}
	var b bytes.Buffer
	if err := d.write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := engines[d.kind].Validate(context.Background(), &b)
	if err != nil {
		t.Fatalf("%s: %v", d.name, err)
	}
	if got.Valid == (want.Phase == "xsd") {
		t.Errorf("%s (%s): valid is %t: %+v, the oracle says %s", d.name, d.fault, got.Valid, got.Errors, want.Phase)
		return
	}
	for _, w := range want.Errors {
		found := want.Phase != "xsd"
		for _, e := range got.Errors {
			found = found || e.Exception == w.Exception && e.Line == w.Line
		}
		if !found {
			t.Errorf("%s (%s): %+v, the oracle says %+v", d.name, d.fault, got.Errors, w)
		}
	}
}
