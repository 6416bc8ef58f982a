package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tributary/internal/outfile"
	"tributary/internal/screen"
	"tributary/queries/plot"
	"tributary/queries/recipe"
	"tributary/sql/history/recipes"
)

// inTerminal is the value of --plot without a file.
const inTerminal = "-"

// maxDrawn bounds the answer that is drawn, in bytes.
const maxDrawn = 64 << 20

// checkPicture refuses what can't be drawn, before anything is asked.
func checkPicture(r recipes.Recipe, picture string) error {
	if picture == "" {
		return nil
	}
	if r.Plot == nil {
		return usagef("report %s is a list, which no picture tells better: leave out --plot", r.Name)
	}
	if picture == inTerminal {
		return nil
	}
	if _, err := plot.Format(picture); err != nil {
		return usagef("--plot: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(picture)); err != nil || !info.IsDir() {
		return usagef("--plot: there is no folder %s for the picture: make it first", filepath.Dir(picture))
	}
	if info, err := os.Stat(picture); err == nil && !info.Mode().IsRegular() {
		return usagef("--plot: %s is no file that a picture may replace", picture)
	}
	return nil
}

// drawRecipe draws an answer: in the terminal, or in a file.
func (c *cli) drawRecipe(r recipes.Recipe, answer []byte, picture string) error {
	f, err := recipe.Figure(r, answer)
	if err != nil {
		return err
	}
	if f.Empty() {
		return c.sayEmpty(r)
	}
	if picture == inTerminal {
		return f.Terminal(c.stdout, screen.Columns(c.stdout))
	}
	format, err := plot.Format(picture)
	if err != nil {
		return usage(err)
	}
	var drawn bytes.Buffer
	if err := f.Write(&drawn, format); err != nil {
		return err
	}
	err = outfile.Write(picture, true, func(w io.Writer) error {
		_, err := drawn.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// sayEmpty says why nothing is drawn. Where an answer has moments, these are
// whole multiples of --every, of which a short time has none.
func (c *cli) sayEmpty(r recipes.Recipe) error {
	text := "nothing of this is in the history, so nothing is drawn"
	if p, ok := r.Parameter("every"); ok {
		text += "; only moments at whole multiples of --every (" + p.Default + " if it is not given) are asked: a shorter one may have some"
	}
	_, err := fmt.Fprintln(c.stderr, "tributary: "+text)
	return err
}

// bounded is a buffer that refuses more than can be drawn.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxDrawn {
		return 0, usagef("the answer is too long to be drawn: narrow it with --since, --centre or --source")
	}
	return b.Buffer.Write(p)
}
