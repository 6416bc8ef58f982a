package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// fake is srfake with what it leaves out: ids and versions are taken as asked
// in the mode IMPORT, and refused in any other.
type fake struct {
	*srfake.Registry
	mu     sync.Mutex
	mode   map[string]string // by subject, as last set
	log    []string          // modes set and schemas registered, in order
	broken string            // subject whose registrations fail
}

func newFake(t *testing.T, opts ...srfake.Option) *fake {
	t.Helper()
	f := &fake{Registry: srfake.New(opts...), mode: map[string]string{}}
	t.Cleanup(f.Close)
	f.Intercept(f.intercept)
	return f
}

func (f *fake) intercept(w http.ResponseWriter, q *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	switch {
	case q.Method == http.MethodPut && len(parts) == 2 && parts[0] == "mode":
		body, _ := io.ReadAll(q.Body)
		var m struct{ Mode string }
		_ = json.Unmarshal(body, &m)
		versions, exists := 0, f.SubjectExists(parts[1])
		for exists {
			if _, ok := f.GetSchema(parts[1], versions+1); !ok {
				break
			}
			versions++
		}
		if m.Mode == "IMPORT" && versions > 0 && q.URL.Query().Get("force") != "true" {
			return refuse(w, http.StatusUnprocessableEntity, 42205, "Cannot import since found existing subjects")
		}
		f.mode[parts[1]] = m.Mode
		f.log = append(f.log, m.Mode+" "+parts[1])
		q.Body = io.NopCloser(strings.NewReader(string(body)))
		return false
	case q.Method == http.MethodPost && len(parts) == 3 && parts[2] == "versions":
		var s sr.SubjectSchema
		if err := json.NewDecoder(q.Body).Decode(&s); err != nil {
			return refuse(w, http.StatusBadRequest, 42201, err.Error())
		}
		if parts[1] == f.broken {
			return refuse(w, http.StatusInternalServerError, 50001, "the disk is full")
		}
		if f.mode[parts[1]] != "IMPORT" {
			return refuse(w, http.StatusUnprocessableEntity, 42205, "Subject "+parts[1]+" is not in import mode")
		}
		f.SeedSchema(parts[1], s.Version, s.ID, s.Schema)
		f.log = append(f.log, "register "+parts[1])
		return json.NewEncoder(w).Encode(map[string]int{"id": s.ID}) == nil
	}
	return false
}

func refuse(w http.ResponseWriter, status, code int, message string) bool {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error_code":%d,"message":%q}`, code, message)
	return true
}
