package connectors_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// abilities are what a connector can, as the reference names it.
func abilities(a remote.About) [][2]string {
	return [][2]string{
		{"listings", a.Listings}, {"times of files", a.Times}, {"logs in", a.LogsIn}, {"the server is known", a.Trust}, {"a cut transfer goes on", a.Resumes},
		{"checksums", a.Checks}, {"versions", a.Versions}, {"one session does at a time", a.Sessions}, {"besides", a.Besides},
	}
}

// The reference is the connectors' own rows; write it with -update.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Protocols of sources\n\n<!-- Written by `go test ./internal/remote/connectors -update` from the connectors' rows. -->\n\n" +
		"What the scheme of a source's `url` stands for, and what each protocol can. [Limits](../explanation/limits.md) has what a server may send, [the configuration](configuration.md) what the keys mean. With every protocol a checksum file beside a file is compared with its bytes, names are bytes, and nothing is written unless `done_with` says so.\n\n" +
		"| url | port | what is read |\n|---|---|---|\n")
	all := connectors.All()
	for _, c := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Example, c.Port, c.About.Reads)
	}
	for len(all) > 0 {
		same := 1
		for same < len(all) && cmp.Equal(alike(all[same]), alike(all[0])) {
			same++
		}
		section(&b, all[:same])
		all = all[same:]
	}
	const path = "../../../docs/reference/connectors.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s is not what the rows say, write it with -update (-want +got):\n%s", path, diff)
	}
}

// alike is what schemes of one protocol have in common: all but how the server is known.
func alike(c remote.Connector) remote.About {
	c.About.Reads, c.About.Trust = "", ""
	return c.About
}

// section writes what the schemes of a protocol can: where they differ, of which each is.
func section(b *strings.Builder, of remote.Registry) {
	var schemes []string
	for _, c := range of {
		schemes = append(schemes, c.Scheme)
	}
	fmt.Fprintf(b, "\n## %s\n\n| | |\n|---|---|\n", strings.Join(schemes, ", "))
	row := func(name string, value func(remote.Connector) string) {
		var said []string
		for _, c := range of {
			if v := value(c); !slices.Contains(said, v) {
				said = append(said, v)
			}
		}
		if len(said) == 1 {
			fmt.Fprintf(b, "| %s | %s |\n", name, said[0])
			return
		}
		for _, v := range said {
			var with []string
			for _, c := range of {
				if value(c) == v {
					with = append(with, c.Scheme)
				}
			}
			fmt.Fprintf(b, "| %s (%s) | %s |\n", name, strings.Join(with, ", "), v)
		}
	}
	for i, a := range abilities(of[0].About) {
		row(a[0], func(c remote.Connector) string { return abilities(c.About)[i][1] })
	}
	row("keys", func(c remote.Connector) string { return "`" + strings.Join(c.Keys, "`, `") + "`" })
}

// Each row says all of what a connector can, by keys that it has, and its example is a
// url of it.
func TestRowsSayWhatTheyCan(t *testing.T) {
	quoted := regexp.MustCompile("`([a-z0-9]+(?:_[a-z0-9]+)*)`")
	for _, c := range connectors.All() {
		if to, err := connectors.All().ParseURL(c.Example); err != nil || to.Scheme != c.Scheme || c.Protocol == 0 || len(c.Keys) == 0 {
			t.Errorf("%s: %s (%v), protocol %d, keys %v", c.Scheme, c.Example, err, c.Protocol, c.Keys)
		}
		about := reflect.ValueOf(c.About)
		said := map[string]bool{}
		for i := range about.NumField() {
			text := about.Field(i).String()
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %s is %q", c.Scheme, about.Type().Field(i).Name, text)
			}
			for _, m := range quoted.FindAllStringSubmatch(text, -1) {
				said[m[1]] = true
				if !slices.Contains(c.Keys, m[1]) {
					t.Errorf("%s: %s speaks of %s, which is no key of it", c.Scheme, about.Type().Field(i).Name, m[1])
				}
			}
		}
		for _, key := range c.Keys {
			// Which secrets and trust there are is what a person looks for here.
			if regexp.MustCompile("password|token|cookie|identity|headers|ca_file|certificate_pin|known_hosts|host_key").MatchString(key) && !said[key] {
				t.Errorf("%s: nothing is said of %s", c.Scheme, key)
			}
		}
	}
}
