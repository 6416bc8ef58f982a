// Command bench measures what docs/explanation/performance.md promises: rows, each of
// them one kind of work beside what somebody would use instead. It runs the benches below
// this folder, whose output passes by, and prints one table at the end. The benches decide
// nothing: what is asked of each row stands here.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	var b bench
	var list bool
	flag.StringVar(&b.only, "row", "", "names of the rows to measure, with commas between (default all)")
	flag.StringVar(&b.binary, "binary", "bin/tributary", "the program, for rows that run the whole of it")
	flag.IntVar(&b.rounds, "rounds", 0, "runs of each (default what each row's bench says)")
	flag.BoolVar(&list, "list", false, "list the rows and what they need, and measure nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := b.run
	if list {
		run = b.list
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	only, binary string
	rounds       int
}

// list tells what rows there are.
func (b *bench) list(context.Context) error {
	for _, r := range rows {
		needs := ""
		if len(r.needs) > 0 {
			needs = "; needs " + strings.Join(r.needs, ", ")
		}
		fmt.Printf("%-20s %s, beside %s%s\n", r.name, r.work, r.beside, needs)
	}
	return nil
}

// run measures rows and prints what came of them. A bench that several rows are read
// from runs once. What a row lacks it is skipped for; a bench that fails doesn't keep the
// others from being measured.
func (b *bench) run(ctx context.Context) error {
	chosen, err := b.chosen()
	if err != nil {
		return err
	}
	printed := map[string]string{} // by command
	table := [][]string{{"row", "ours", "peer", "ratio", "asked", "rounds", ""}, {"---", "---", "---", "---", "---", "---", "---"}}
	var failed []string
	for _, r := range chosen {
		if missing := r.missing(); len(missing) > 0 {
			table = append(table, []string{r.name, "", "", "", r.asks(), "", "skipped: not installed: " + strings.Join(missing, ", ")})
			continue
		}
		command := b.command(r)
		out, ran := printed[command]
		if !ran {
			fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, command)
			out, err = execute(ctx, command)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if printed[command] = out; err != nil {
				failed = append(failed, r.name)
				fmt.Fprintf(os.Stderr, "bench: %s: %v\n", r.name, err)
			}
		}
		table = append(table, r.read(out))
	}
	printTable(table)
	if len(failed) > 0 {
		return fmt.Errorf("not measured to the end: %s", strings.Join(failed, ", "))
	}
	return nil
}

func (b *bench) chosen() ([]row, error) {
	if b.only == "" {
		return rows, nil
	}
	var out []row
	for _, name := range strings.Split(b.only, ",") {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q: go run ./bench -list tells which there are", name)
		}
		out = append(out, rows[i])
	}
	return out, nil
}

// command is what measures a row.
func (b *bench) command(r row) string {
	command := strings.ReplaceAll(r.command, "BINARY", b.binary)
	if b.rounds > 0 && !r.onlyOnce {
		command += " -rounds " + strconv.Itoa(b.rounds)
	}
	return command
}

// execute runs a command, passes on what it prints, and returns that, too.
func execute(ctx context.Context, command string) (string, error) {
	words := strings.Fields(command)
	begin := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(w, "=") })
	cmd := exec.CommandContext(ctx, words[begin], words[begin+1:]...)
	cmd.Env = append(os.Environ(), words[:begin]...)
	// It has servers and engines to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &both{&out}, os.Stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w", command, err)
	}
	return out.String(), nil
}

// both keeps what is written and passes it on.
type both struct{ kept *strings.Builder }

func (b *both) Write(p []byte) (int, error) {
	b.kept.Write(p)
	return os.Stderr.Write(p)
}

// printTable prints a table in Markdown, its columns below each other.
func printTable(table [][]string) {
	wide := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	for _, line := range table {
		var out strings.Builder
		for i, cell := range line {
			fmt.Fprintf(&out, "| %-*s ", wide[i], cell)
		}
		fmt.Println(strings.TrimSpace(out.String()) + " |")
	}
}
