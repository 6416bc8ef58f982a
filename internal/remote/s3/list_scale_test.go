package s3_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// thousands answers with page after page of a thousand keys, n in all.
func thousands(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
		var page strings.Builder
		for i := from; i < min(from+1000, n); i++ {
			page.WriteString(object("impc/add/"+remotetest.Nth(i), "5", noon))
		}
		end := lastPage
		if from+1000 < n {
			end = more + strconv.Itoa(from+1000) + moreEnd
		}
		keys(w, page.String()+end)
	}
}

// However many keys are listed, by generated answers, few are held.
func TestListsAnyNumber(t *testing.T) {
	n := remotetest.HowMany()
	_, c := store(t, thousands(n), nil)
	c.Limits, c.IgnoreRobots = remote.Limits{}, true
	remotetest.Lists(t, c, n, 5)
}
