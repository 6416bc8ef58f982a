package remote_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tributary/internal/remote"
)

// thousands answers with page after page of a thousand keys, n in all.
func thousands(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
		var page strings.Builder
		for i := from; i < min(from+1000, n); i++ {
			page.WriteString(object(fmt.Sprintf("impc/add/CENTRE.2024-02-29.%07d.impc.zip", i), "5", noon))
		}
		end := lastPage
		if from+1000 < n {
			end = more + strconv.Itoa(from+1000) + moreEnd
		}
		keys(w, page.String()+end)
	}
}

// However many keys are listed, a page of them is held: make s3-scale lists a million,
// for which the whole process, server included, takes less than 200 MB.
func TestS3ListsAnyNumber(t *testing.T) {
	n := 50_000
	if many, err := strconv.Atoi(os.Getenv("TRIBUTARY_SCALE_ENTRIES")); err == nil {
		n = many
	}
	_, c := store(t, thousands(n), nil)
	c.Limits, c.IdleTimeout = remote.Limits{}, 0
	session := dialSite(t, c)
	var m runtime.MemStats
	held := func() uint64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, count := held(), uint64(0), 0
	err := session.List(t.Context(), "add", func(remote.Entry) error {
		if count++; count%(n/5) == 0 {
			most = max(most, held())
		}
		return nil
	})
	if err != nil || count != n {
		t.Fatalf("%d entries, %v", count, err)
	}
	if most > before+8<<20 {
		t.Errorf("%d KiB were held", (most-before)>>10)
	}
	if t.Logf("%d entries: %d MiB in all", n, m.Sys>>20); n >= 1_000_000 && m.Sys > 200_000_000 {
		t.Error("that is too much")
	}
}

// No key, no directory: that is not an empty one. A bucket is there without any.
func TestS3PrefixWithoutKeys(t *testing.T) {
	_, c := store(t, func(w http.ResponseWriter, _ *http.Request) { keys(w, lastPage) }, nil)
	session := dialSite(t, c)
	for _, dir := range []string{"", "add"} {
		if got, err := listed(t, session, dir); remote.ClassOf(err) != remote.NotExist || len(got) > 0 {
			t.Errorf("%q below a prefix: %v, %v", dir, got, err)
		}
	}
	c.URL = "s3://AKIA@bucket"
	if got, err := listed(t, dialSite(t, c), ""); err != nil || len(got) > 0 {
		t.Errorf("an empty bucket: %v, %v", got, err)
	}
}
