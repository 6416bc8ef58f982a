package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
	"tributary/web/keep"
	"tributary/web/question"
)

// keeps has nobody in particular keep a question of each kind.
func keeps(t *testing.T, pool *pgxpool.Pool, asker *question.Asker, now func() time.Time) {
	t.Helper()
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	shelf := keep.Shelf{Control: pool, Asker: asker, Now: now}
	for _, k := range []control.KeptQuestion{
		{Name: "failed", Kind: keep.Files, Asks: "status=failed&after=x"}, {Name: "invalid", Kind: keep.Documents, Asks: "exception=xsd_invalid"},
		{Name: "rejected", Kind: keep.Recipe, About: "rejected", Asks: "centre=H"}, {Name: "one", Kind: keep.SQL, About: "tracker", Asks: "SELECT 1 AS one"},
	} {
		if _, err := shelf.Keep(t.Context(), "", k); err != nil {
			t.Fatal(err)
		}
	}
}

// Each keeps their own questions, under one name each, and so many; what can't be asked is
// not kept.
func TestKeptQuestions(t *testing.T) {
	a := New(whole(t))
	for i, c := range []struct {
		person, path, body string
		status             int
		want               string
	}{
		{"ann", "/questions", `{"name":" late <b> ","kind":"files","asks":"waiting=true&since=7d&limit=3&as_of=1h"}`, 200, `"asks":"since=7d\u0026waiting=true"`},
		{"ann", "/questions", `{"name":"late <b>","kind":"files","asks":""}`, 409, "/problems/question_name_used"},
		{"ben", "/questions", `{"name":"late <b>","kind":"sql","about":"tracker","asks":"SELECT 2"}`, 200, `"command":"tributary sql --store tracker 'SELECT 2'"`},
		{"ben", "/questions/5/ask", `{}`, 404, "/problems/no_such_question"},
		{"ben", "/questions/5/rename", `{"name":"mine"}`, 404, "/problems/no_such_question"},
		{"ben", "/questions/5/delete", `{}`, 404, "/problems/no_such_question"},
		{"ann", "/questions/5/ask", `{}`, 200, `"files":{"rows":`},
		{"ann", "/questions", `{"name":"later","kind":"recipe","about":"rejected","asks":"centre=H&colour=red"}`, 200, `"command":"tributary report rejected --centre H"`},
		{"ann", "/questions/8/rename", `{"name":"late <b>"}`, 409, "/problems/question_name_used"},
		{"ann", "/questions/8/rename", `{"name":"a\u202eb"}`, 400, "/problems/bad_question"},
		{"ann", "/questions", `{"name":"x","kind":"files","asks":"status=gone"}`, 400, "/problems/bad_question"},
		{"ann", "/questions", `{"name":"x","kind":"files","asks":"q=%00"}`, 400, "/problems/bad_question"},
		{"ann", "/questions", `{"name":"x","kind":"files","asks":"%zz"}`, 400, "/problems/bad_question"},
		{"ann", "/questions", `{"name":"x","kind":"recipe","about":"nothing","asks":""}`, 400, "there is no recipe"},
		{"ann", "/questions", `{"name":"x","kind":"sql","about":"warehouse","asks":"SELECT 1"}`, 400, "there is no store"},
		{"ann", "/questions", `{"name":"x","kind":"sql","about":"tracker","asks":" "}`, 400, "the statement is empty"},
		{"ann", "/questions", `{"name":"  ","kind":"files","asks":""}`, 400, "needs a name"},
		{"ann", "/questions", `{"name":"x","kind":"rows","asks":""}`, 422, "validation failed"},
		{"ann", "/questions", `{"name":"x","kind":"sql","about":"tracker","asks":"` + strings.Repeat("é", keep.MaxAsks/2+1) + `"}`, 400, "larger than 16 kB"},
		{"ann", "/questions", `{"name":"bad","kind":"sql","about":"tracker","asks":"DROP TABLE tracker.file"}`, 200, `"kind":"sql"`}, // refused when it is asked
		{"ann", "/questions/9/ask", `{}`, 400, "/problems/bad_statement"},
	} {
		status, answer := sent(t, a, c.person, c.path, "", c.body)
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if status != c.status || !strings.Contains(string(text), c.want) && !strings.Contains(string(text), strings.ReplaceAll(c.want, "&", `\u0026`)) {
			t.Errorf("%d: %s: %d %s, want %d %s", i, c.body, status, text, c.status, c.want)
		}
	}
	for n := range control.MostKeptQuestions + 1 {
		status, answer := sent(t, a, "carl", "/questions", "", fmt.Sprintf(`{"name":"%d","kind":"files","asks":""}`, n))
		if full := n == control.MostKeptQuestions; full != (status == http.StatusConflict) || full && answer["type"] != "/problems/questions_full" {
			t.Fatalf("question %d: %d %v", n, status, answer)
		}
	}
	without := whole(t)
	without.Control = nil
	if status, answer := sent(t, New(without), "ann", "/questions/1/ask", "", `{}`); status != 503 || answer["type"] != "/problems/not_here" {
		t.Errorf("where nothing is kept: %d %v", status, answer)
	}
}
