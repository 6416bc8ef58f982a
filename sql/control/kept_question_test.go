package control_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

// However many are kept at once, there are no more than so many; what was kept for an
// account is nobody's once it is removed.
func TestKeptQuestionsAreBounded(t *testing.T) {
	pool := database(t)
	var all sync.WaitGroup
	for n := range control.MostKeptQuestions + 10 {
		all.Go(func() {
			_, err := control.KeepQuestion(t.Context(), pool, "ann", control.KeptQuestion{Name: fmt.Sprint(n), Kind: "files", KeptAt: noon})
			if err != nil && !errors.Is(err, control.ErrQuestionsFull) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	kept, err := control.KeptQuestions(t.Context(), pool, "ann")
	if err != nil || len(kept) != control.MostKeptQuestions {
		t.Fatalf("%d are kept, %v", len(kept), err)
	}
	if done, err := control.DeleteQuestion(t.Context(), pool, "ann", kept[0].Number); !done || err != nil {
		t.Fatal(done, err)
	}
	if _, err := control.KeepQuestion(t.Context(), pool, "ann", control.KeptQuestion{Name: kept[1].Name, Kind: "files", KeptAt: noon}); !errors.Is(err, control.ErrQuestionName) {
		t.Errorf("a name twice: %v", err)
	}
	if _, err := control.Visited(t.Context(), pool, "ann", noon); err != nil {
		t.Fatal(err)
	}
	inTx(t, pool, func(tx pgx.Tx) error { return control.RemoveAccount(t.Context(), tx, "ann") })
	if n := text(t, pool, "SELECT (SELECT count(*) FROM control.kept_question) + (SELECT count(*) FROM control.visit)"); n != "(0)" {
		t.Errorf("%s are left", n)
	}
}
