//go:build !race

package poll

import (
	"errors"
	"testing"
	"time"

	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// Checksums are not asked for beside files of which complete listings have shown that
// their source has none. Whatever is not sure has them asked for.
func TestWhenChecksumsAreNotAskedFor(t *testing.T) {
	const name = "H.2026-01-02.1.impc.zip"
	beside := func(dir, name string) func(*bench) {
		return func(b *bench) {
			b.server.dirs[dir] = append(b.server.dirs[dir], remote.Entry{Name: name, Size: 32})
		}
	}
	file := func(b *bench) { b.server.show(name, 10) }
	other := func(b *bench) { b.server.show(good3, 10) }
	gone := func(b *bench) { b.server.hide(name + ".md5"); b.server.hide(name) }
	fails := func(b *bench) { b.server.fail = errors.New("broken off") }
	moved := func(b *bench) { b.define(config.Source{ID: "src", Centre: "H", URL: "file:///elsewhere"}) }
	feed := func(b *bench) {
		b.define(config.Source{ID: "src", Centre: "H", URL: "http://host/", Feed: "feed.xml"})
	}
	minimal := func(b *bench) { b.minimally(24 * time.Hour); b.server.show(name, 10) }
	comes := func(b *bench) { b.server.show(good3, 10); b.server.changed("add", b.now) }
	announced := func(b *bench) { b.announce(b.announcer(), nil) }
	older := func(b *bench) { // a listing of the program before, which knows nothing of the column
		b.listing()
		b.exec("UPDATE control.source SET no_checksums_at = $1", noon.Add(time.Hour))
	}
	list := func(b *bench) { b.listing() }
	of := func(names ...string) []string { return names }
	for what, tt := range map[string]struct {
		steps []func(*bench) // an hour apart
		files []string
		want  bool
	}{
		"never listed":                      {steps: []func(*bench){}, files: of(name)},
		"listed, without any":               {steps: []func(*bench){file, list}, files: of(name), want: true},
		"with one beside it":                {steps: []func(*bench){file, beside("add", name+".md5"), list}, files: of(name)},
		"with one in capitals":              {steps: []func(*bench){file, beside("add", name+".MD5"), list}, files: of(name)},
		"with one beside another":           {steps: []func(*bench){file, other, beside("add", good3+".md5"), list}, files: of(name)},
		"with one in another directory":     {steps: []func(*bench){file, beside("edit", good3+".md5"), list}, files: of(name)},
		"with other things":                 {steps: []func(*bench){file, beside("add", "readme.txt"), beside("add", "md5"), list}, files: of(name), want: true},
		"one came later":                    {steps: []func(*bench){file, list, beside("add", name+".md5"), list}, files: of(name)},
		"one came, with a file, and went":   {steps: []func(*bench){file, beside("add", name+".md5"), list, gone, list}, files: of(name)},
		"another file came":                 {steps: []func(*bench){file, list, other, list}, files: of(name, good3), want: true},
		"another file was not listed":       {steps: []func(*bench){file, list}, files: of(name, good3)},
		"another file was announced":        {steps: []func(*bench){file, list, announced}, files: of(announcedName)},
		"that file was listed then":         {steps: []func(*bench){file, list, announced, func(b *bench) { b.server.show(announcedName, 10) }, list}, files: of(announcedName), want: true},
		"a listing broke off":               {steps: []func(*bench){file, list, other, fails, list}, files: of(good3)},
		"a listing broke off, without news": {steps: []func(*bench){file, list, fails, list}, files: of(name), want: true},
		"only a part of it is shown":        {steps: []func(*bench){feed, file, list}, files: of(name)},
		"only a part is shown from now on":  {steps: []func(*bench){file, list, feed, list}, files: of(name)},
		"it was moved":                      {steps: []func(*bench){file, list, moved}, files: of(name)},
		"it was moved, and listed":          {steps: []func(*bench){file, list, moved, list}, files: of(name), want: true},
		"it was moved, and broke off":       {steps: []func(*bench){file, list, moved, fails, list}, files: of(name)},
		"the program before listed it":      {steps: []func(*bench){file, list, other, older}, files: of(good3)},
		"a file came into what is minimal":  {steps: []func(*bench){minimal, list, list, comes, list}, files: of(name, good3), want: true},
		"a checksum came into what is so":   {steps: []func(*bench){minimal, list, list, comes, beside("add", good3+".md5"), list}, files: of(name)},
		"an unreadable line may be of one": {steps: []func(*bench){file, func(b *bench) {
			b.server.dirs["add"] = append(b.server.dirs["add"], remote.Entry{Name: "?? " + name + ".md5", Kind: remote.Other, Unreadable: true})
		}, list}, files: of(name)},
		"its directories were empty at last": {steps: []func(*bench){file, list, gone, list}, files: of(name), want: true},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			for _, step := range tt.steps {
				step(b)
				b.now = b.now.Add(time.Hour)
			}
			if got := b.withoutChecksums(tt.files...); got != tt.want {
				t.Errorf("that there are none is known: %v, want %v", got, tt.want)
			}
		})
	}
}

// withoutChecksums is what a job of files in add would be told.
func (b *bench) withoutChecksums(names ...string) bool {
	b.t.Helper()
	places, err := control.Places(b.t.Context(), b.deps.Pool, []string{"src"})
	if err != nil {
		b.t.Fatal(err)
	}
	var files []string
	for _, name := range names {
		files = append(files, schemas.FileID("add", name))
	}
	none, err := control.WithoutChecksums(b.t.Context(), b.deps.Pool, "src", places["src"].Definition, files)
	if err != nil {
		b.t.Fatal(err)
	}
	return none
}

// A checksum that came while its file settled is asked for, though the file was listed
// before it, and however soon after the file is announced it is fetched.
func TestAChecksumThatCameWhileItsFileSettledIsAskedFor(t *testing.T) {
	const name = "H.2026-01-02.1.impc.zip"
	b := newBench(t)
	b.server.show(name, 10)
	b.listing()
	if !b.withoutChecksums(name) {
		t.Fatal("the first listing is to show that there is none")
	}
	b.exec(`CREATE FUNCTION control.known() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM control.source WHERE no_checksums_at IS NOT NULL) THEN RAISE EXCEPTION 'a file is announced before it is known that there are checksums'; END IF;
		RETURN NEW; END $$`)
	b.exec("CREATE TRIGGER known BEFORE INSERT OR UPDATE ON control.look FOR EACH ROW WHEN (NEW.class = 'announced') EXECUTE FUNCTION control.known()")
	b.server.show(name+".md5", 32)
	b.now = b.now.Add(time.Hour)
	b.listing()
	if got := b.text("SELECT class FROM control.look"); got != "announced" {
		t.Errorf("the file is %q, not announced", got)
	}
}
