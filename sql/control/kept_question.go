package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// MostKeptQuestions is how many questions are kept for a person. The schema says the same.
const MostKeptQuestions = 50

// ErrQuestionName says that a person keeps another question by that name.
var ErrQuestionName = errors.New("a question is kept by that name already")

// ErrQuestionsFull says that no more questions are kept for a person.
var ErrQuestionsFull = fmt.Errorf("%d questions are kept already, which is the most: delete one first", MostKeptQuestions)

// KeptQuestion is a question that a person has given a name.
type KeptQuestion struct {
	Number int64 // by which addresses name it
	Name   string
	Kind   string // files, documents, recipe or sql
	About  string // a recipe's name, or the store of a statement; empty for lists
	Asks   string // filters or parameters, as an address has them; or a statement
	KeptAt time.Time
}

// KeepQuestion keeps a question for a person and returns its number. It fails with
// ErrQuestionName or ErrQuestionsFull where it can't.
func KeepQuestion(ctx context.Context, q pg.Querier, person string, k KeptQuestion) (number int64, err error) {
	// Who keeps another one at the same moment takes the slot: then this looks again.
	for range MostKeptQuestions {
		err = q.QueryRow(ctx, `INSERT INTO control.kept_question (person, slot, name, kind, about, asks, kept_at)
			SELECT $1, s, $2, $3, $4, $5, $6 FROM generate_series(1, $7) s
			WHERE NOT EXISTS (SELECT FROM control.kept_question k WHERE k.person = $1 AND k.slot = s) ORDER BY s LIMIT 1
			ON CONFLICT (person, slot) DO NOTHING RETURNING number`, pg.Text(person), k.Name, k.Kind, k.About, k.Asks, k.KeptAt, MostKeptQuestions).Scan(&number)
		if !errors.Is(err, pgx.ErrNoRows) {
			return number, named(err, "keep a question")
		}
		kept, err := KeptQuestions(ctx, q, person)
		if err != nil {
			return 0, err
		}
		if len(kept) >= MostKeptQuestions {
			break
		}
	}
	return 0, ErrQuestionsFull
}

// named is an error of a statement that gives a question its name.
func named(err error, what string) error {
	if pg.Taken(err) {
		return ErrQuestionName
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// KeptQuestions are a person's, by name.
func KeptQuestions(ctx context.Context, q pg.Querier, person string) ([]KeptQuestion, error) {
	return pg.List(ctx, q, "read kept questions", pgx.RowToStructByName[KeptQuestion], `SELECT number, name, kind, about, asks, kept_at FROM control.kept_question WHERE person = $1 ORDER BY name COLLATE "C"`, pg.Text(person))
}

// ReadKeptQuestion returns one of a person's; nil if they have none of that number.
func ReadKeptQuestion(ctx context.Context, q pg.Querier, person string, number int64) (*KeptQuestion, error) {
	return pg.Maybe(ctx, q, "read a kept question", pgx.RowToStructByName[KeptQuestion], "SELECT number, name, kind, about, asks, kept_at FROM control.kept_question WHERE person = $1 AND number = $2", pg.Text(person), number)
}

// RenameQuestion gives one of a person's another name; false: they have none of that
// number. It fails with ErrQuestionName where another one has the name.
func RenameQuestion(ctx context.Context, q pg.Querier, person string, number int64, name string) (bool, error) {
	tag, err := q.Exec(ctx, "UPDATE control.kept_question SET name = $3 WHERE person = $1 AND number = $2", pg.Text(person), number, name)
	return tag.RowsAffected() == 1, named(err, "rename a kept question")
}

// DeleteQuestion forgets one of a person's; false: they have none of that number.
func DeleteQuestion(ctx context.Context, q pg.Querier, person string, number int64) (bool, error) {
	n, err := pg.Changed(ctx, q, "delete a kept question", "DELETE FROM control.kept_question WHERE person = $1 AND number = $2", pg.Text(person), number)
	return n == 1, err
}

// forgetPerson forgets what is kept for a person, so that whoever has the name later
// does not get it.
func forgetPerson(ctx context.Context, q pg.Querier, person string) error {
	if err := pg.Exec(ctx, q, "forget what is kept for "+person, "DELETE FROM control.visit WHERE person = $1", person); err != nil {
		return err
	}
	return pg.Exec(ctx, q, "forget what is kept for "+person, "DELETE FROM control.kept_question WHERE person = $1", person)
}
