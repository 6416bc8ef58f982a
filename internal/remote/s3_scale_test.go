package remote_test

import (
	"fmt"
	"net/http"
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

// A million keys are listed within memory for a page of them, server included.
func TestS3ListsAMillion(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	_, c := store(t, thousands(n), nil)
	c.Limits = remote.Limits{}
	session := dialSite(t, c)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, count := held(), uint64(0), 0
	err := session.List(t.Context(), "add", func(remote.Entry) error {
		if count++; count%10_000 == 0 {
			most = max(most, held())
		}
		return nil
	})
	if err != nil || count != n {
		t.Fatalf("%d entries, %v", count, err)
	}
	if most > before+100<<20 {
		t.Errorf("%d MiB were held", (most-before)>>20)
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
