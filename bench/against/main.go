// Command against builds and runs the work of bench/work as it is here and as it was at the
// commit that bench/baseline names, in turn, and fails where a part takes more of the
// processor, or allocates more, than it did there by more than 15 %.
//
// Of the processor's time the least of all rounds counts, which a machine that is busy
// elsewhere changes least; while a part seems slower than is allowed, more rounds are
// played, up to a bound. A shallow clone may lack the commit: then nothing is compared.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tributary/bench/program"
)

func main() {
	var a against
	flag.StringVar(&a.baseline, "baseline", "bench/baseline", "file whose first line is the commit")
	flag.IntVar(&a.rounds, "rounds", 4, "runs of each")
	flag.IntVar(&a.most, "most", 16, "runs of each while a part seems slower than is allowed")
	program.Main("against", a.run)
}

type against struct {
	baseline     string
	rounds, most int
}

func (a *against) run(ctx context.Context) (err error) {
	text, err := os.ReadFile(a.baseline)
	if err != nil {
		return err
	}
	commit, _, _ := strings.Cut(string(text), "\n")
	if err := command(ctx, ".", "git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		shallow, shallowErr := exec.CommandContext(ctx, "git", "rev-parse", "--is-shallow-repository").Output()
		if shallowErr == nil && strings.TrimSpace(string(shallow)) == "false" {
			return fmt.Errorf("%s names the commit %s, which is not in the whole history that is here: name one that is (%w)", a.baseline, commit, err)
		}
		fmt.Printf("the commit %s of %s is not in the history that is here (git fetch --unshallow): not compared\n", commit, a.baseline)
		return nil
	}
	dir, err := os.MkdirTemp("", "tributary-against-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before, here := filepath.Join(dir, "before"), filepath.Join(dir, "here")
	tree, err := checkOut(ctx, dir, commit)
	if err != nil {
		return err
	}
	if err := errors.Join(build(ctx, tree, before), build(ctx, ".", here)); err != nil {
		return err
	}
	var was, is parts
	for round := 1; ; round++ {
		// Who begins changes from round to round.
		for _, first := range []bool{round%2 == 0, round%2 != 0} {
			if first {
				err = is.play(ctx, here)
			} else {
				err = was.play(ctx, before)
			}
			if err != nil {
				return err
			}
		}
		if round < a.rounds {
			continue
		}
		verdict, err := compare(was, is)
		if err != nil {
			return fmt.Errorf("%w: name in %s a commit that does the same work, and why", err, a.baseline)
		}
		if len(verdict.worse) == 0 || round >= a.most {
			fmt.Printf("%s\n%d rounds, beside commit %.12s\n", verdict.table, round, commit)
			return verdict.err()
		}
	}
}

func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return cmd
}

// checkOut puts the tree of a commit into a folder below dir. One that is older than this
// comparison gets its work from here.
func checkOut(ctx context.Context, dir, commit string) (tree string, err error) {
	tree, tar := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", err
	}
	if err := command(ctx, ".", "git", "archive", "--output="+tar, commit).Run(); err != nil {
		return "", fmt.Errorf("git archive: %w", err)
	}
	if err := command(ctx, tree, "tar", "-xf", tar).Run(); err != nil {
		return "", fmt.Errorf("tar: %w", err)
	}
	work := filepath.Join(tree, "bench", "work")
	if _, err := os.Stat(work); errors.Is(err, fs.ErrNotExist) {
		return tree, os.CopyFS(work, os.DirFS("bench/work"))
	}
	return tree, nil
}

// build builds the work of a tree.
func build(ctx context.Context, tree, program string) error {
	if err := command(ctx, tree, "go", "build", "-buildvcs=false", "-o", program, "./bench/work").Run(); err != nil {
		return fmt.Errorf("build bench/work of %s: %w", tree, err)
	}
	return nil
}

// part is one as bench/work tells of it.
type part struct {
	Name          string
	Done          int
	Seconds       float64
	Bytes, Pieces uint64
}

// parts are the least of each that any round took.
type parts []part

// play runs a program for a round.
func (p *parts) play(ctx context.Context, program string) error {
	cmd := command(ctx, ".", program)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	in := json.NewDecoder(bytes.NewReader(out))
	for i := 0; ; i++ {
		var one part
		err := in.Decode(&one)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("what %s says can't be read: %w", program, err)
		}
		if i == len(*p) {
			*p = append(*p, one)
			continue
		}
		least := &(*p)[i]
		least.Seconds, least.Bytes, least.Pieces = min(least.Seconds, one.Seconds), min(least.Bytes, one.Bytes), min(least.Pieces, one.Pieces)
	}
}
