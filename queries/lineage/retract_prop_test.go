package lineage_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	google "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/queries/lineage"
	"tributary/schemas"
)

// said is a document of a version in the model: what it says about some keys.
type said struct {
	position int64
	file     int
	rank     int
	entry    string
	deletes  bool
	keys     []int
}

// version is a version of a file in the model.
type version struct{ file, rank int }

// fallen says whether a document is withdrawn, given the versions that are
// unloaded: its own is, or a greater one that is complete and is not unloaded
// has its entry, or lacks it.
func fallen(d said, complete []version, unloaded map[version]bool) bool {
	if unloaded[version{d.file, d.rank}] {
		return true
	}
	for _, v := range complete {
		if v.file == d.file && v.rank > d.rank && !unloaded[v] {
			return true // whether it has the entry or lacks it
		}
	}
	return false
}

// current is which document's claim holds for each key; 0 for none.
func current(docs []said, complete []version, unloaded map[version]bool) map[int]int64 {
	out := map[int]int64{}
	best := map[int]said{}
	for _, d := range docs {
		if fallen(d, complete, unloaded) {
			continue
		}
		for _, k := range d.keys {
			if b, ok := best[k]; !ok || cmp.Or(cmp.Compare(d.file, b.file), cmp.Compare(d.rank, b.rank), cmp.Compare(d.position, b.position)) > 0 {
				best[k] = d
			}
		}
	}
	for k, d := range best {
		if !d.deletes {
			out[k] = d.position
		}
	}
	return out
}

// What a dry run says is what then happens, for any history.
func TestRetractForeseesWhatHappens(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		b.exec("TRUNCATE warehouse.document, warehouse.claim, warehouse.withdrawal, warehouse.unload")
		var docs []said
		var complete []version
		for file := range rapid.IntRange(1, 3).Draw(t, "files") {
			deletes := rapid.Bool().Draw(t, "deletes")
			for rank := range rapid.IntRange(1, 3).Draw(t, "versions") {
				for _, entry := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(t, "entries") {
					docs = append(docs, said{int64(len(docs) + 1), file, rank, entry, deletes,
						rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 0, 3, rapid.ID).Draw(t, "keys")})
				}
				complete = append(complete, version{file, rank})
			}
		}
		unloaded := map[version]bool{}
		for _, v := range complete {
			if rapid.IntRange(0, 3).Draw(t, "unloaded") == 0 {
				unloaded[v] = true
			}
		}
		before := current(docs, complete, unloaded)
		put(b, docs, complete, unloaded, before)

		v := rapid.SampledFrom(complete).Draw(t, "version")
		got, err := b.reader(0).Retract(b.t.Context(), schemas.Add, name(v.file), archive(v))
		if err != nil {
			t.Fatal(err)
		}
		then := map[version]bool{v: true}
		for u := range unloaded {
			then[u] = true
		}
		want := foreseen(docs, complete, unloaded, then, v, before)
		if d := google.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func name(file int) string { return fmt.Sprintf("file%d.zip", file) }

func archive(v version) string { return fmt.Sprintf("archive%d-%d", v.file, v.rank) }

// foreseen is the retraction by the model.
func foreseen(docs []said, complete []version, unloaded, then map[version]bool, v version, before map[int]int64) *lineage.Retraction {
	out := &lineage.Retraction{File: name(v.file), Action: schemas.Add, Version: archive(v), Documents: []string{}, Restored: []string{}, Tables: []lineage.Change{}}
	after := current(docs, complete, then)
	c := lineage.Change{Table: "specimen"}
	touched := map[int]bool{}
	for _, d := range docs {
		was, is := fallen(d, complete, unloaded), fallen(d, complete, then)
		switch {
		case !was && is:
			out.Documents = append(out.Documents, d.entry)
			c.Records += int64(len(d.keys))
			for _, k := range d.keys {
				if before[k] == d.position {
					c.Current++
				}
			}
		case was && !is:
			out.Restored = append(out.Restored, d.entry)
		default:
			continue
		}
		for _, k := range d.keys {
			touched[k] = true
		}
	}
	for k := range touched {
		if after[k] != 0 && after[k] != before[k] {
			c.Again++
		}
		if after[k] == 0 && before[k] != 0 {
			c.Gone++
		}
	}
	if len(touched) > 0 {
		out.Tables = append(out.Tables, c)
	}
	return out
}

// put writes the model's state before the unload.
func put(b *bench, docs []said, complete []version, unloaded map[version]bool, current map[int]int64) {
	for _, d := range docs {
		b.exec(`INSERT INTO warehouse.document (position, event, run, run_number, session, source, batch, centre, number, late, file, file_name, action, file_date, file_inc,
				document, entry, entry_ordinal, kind, doc_centre, doc_date, doc_inc, archive, archive_offset, packed, method, crc32, size, sha256, md5, rank, version_key,
				attempt, download, unzip, profile, state, phase, exception, rows, withdrawn)
			VALUES ($1, '', '', 0, '', '', '', 'H', 1, false, $2, $3, 'add', '', 1, '', $4, 0, 'specimen', 'H', '', 1, $5, 0, 0, 0, 0, 0, '', '', $6, $7, 1, '', '', '', 'loaded', 'upload', '', 1, $8)`,
			d.position, schemas.FileID(schemas.Add, name(d.file)), name(d.file), d.entry, archive(version{d.file, d.rank}), fmt.Sprint(d.rank),
			fmt.Sprintf("%d %d", d.file, d.rank), fallen(d, complete, unloaded))
		for i, k := range d.keys {
			b.exec(`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal,
					line, col, byte_from, byte_to, tombstone, is_current)
				VALUES ($1, $2, 'specimen', ('00000000-0000-0000-0000-' || lpad($3::text, 12, '0'))::uuid, 'H', ARRAY['H'], gen_random_uuid(), $1, $2, 1, 1, 0, 1, $4, $5)`,
				d.position, i+1, fmt.Sprint(k), d.deletes, current[k] == d.position)
		}
	}
	for i, v := range complete {
		file := schemas.FileID(schemas.Add, name(v.file))
		position := int64(100 + i)
		b.exec(`INSERT INTO warehouse.withdrawal (position, file, entry, what, rank, run_number, archive)
			SELECT $1::bigint, file, entry, 'loaded', rank, 0, archive FROM warehouse.document WHERE file = $2 AND rank = $3
			UNION ALL VALUES ($1::bigint, $2::text, '', 'lacks', $3::text, 0, $4::text)`, position, file, fmt.Sprint(v.rank), archive(v))
	}
	versions := make([]version, 0, len(unloaded))
	for v := range unloaded {
		versions = append(versions, v)
	}
	slices.SortFunc(versions, func(a, b version) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.rank, b.rank)) })
	for i, v := range versions {
		b.exec("INSERT INTO warehouse.unload (position, file, archive) VALUES ($1, $2, $3)", 200+i, schemas.FileID(schemas.Add, name(v.file)), archive(v))
	}
}
