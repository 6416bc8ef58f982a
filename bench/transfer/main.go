// Command transfer times the download stage beside the program that a user would
// fetch the same files with: lftp mirror for SFTP and FTP, aria2c for HTTP, rclone
// for S3, each with eight transfers at once. All fetch the same files from the same
// real server on this machine, in turn, round by round.
//
// Ours is the stage as the program runs it on default settings: jobs as plan cuts
// them, as many at once as a server's sessions, each file hashed twice, its size
// and time compared once more where the answer doesn't tell, the blob and its name
// durable. No checksum beside it is asked for, as listings have shown none. The peers hash
// and sync nothing.
//
// For HTTP and S3 the floor is timed too, before the others: one GET a file over as
// many connections as ours has, its bytes hashed as ours are, written, synced and renamed.
// The server shares the processors with all of them, so nothing that stores durably
// what it can name by its hash is much faster than that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"tributary/bench/program"
	"tributary/bench/rounds"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.StringVar(&b.protocols, "protocols", "sftp,ftp,http,s3", "which to measure")
	flag.IntVar(&b.small.files, "small", 5000, "small files")
	flag.Int64Var(&b.small.bytes, "small-bytes", 20_000, "bytes of each")
	flag.IntVar(&b.large.files, "large", 20, "large files")
	flag.Int64Var(&b.large.bytes, "large-bytes", 50_000_000, "bytes of each")
	flag.IntVar(&b.rounds, "rounds", 5, "runs of each")
	flag.StringVar(&b.profile, "cpuprofile", "", "beginning of the names of files for processor profiles of our runs, such as cpu for cpu-http-small")
	debug.SetGCPercent(200) // as the program has it
	program.Main("transfer", b.run)
}

type bench struct {
	dir, protocols, profile string
	small, large            files
	rounds                  int
}

// files are how many of which size.
type files struct {
	name  string
	files int
	bytes int64
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	b.small.name, b.large.name = "small", "large"
	for _, set := range []files{b.small, b.large} {
		if set.files < 1 || set.bytes < 1 || b.rounds < 1 {
			return errors.New("there must be a file of each size, a byte in it and a round")
		}
		if err := set.write(filepath.Join(b.dir, "served", set.name)); err != nil {
			return err
		}
	}
	var lines []string
	for _, protocol := range strings.Split(b.protocols, ",") {
		for _, set := range []files{b.small, b.large} {
			line, err := b.row(ctx, protocol, set)
			if err != nil {
				return fmt.Errorf("%s, %s files: %w", protocol, set.name, err)
			}
			lines = append(lines, line)
		}
	}
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

// row measures one protocol on one set of files. Its line has the medians of the rounds.
func (b *bench) row(ctx context.Context, protocol string, set files) (line string, err error) {
	r, err := newRow(ctx, protocol, set, filepath.Join(b.dir, "served", set.name), b.dir)
	if err != nil {
		return "", err
	}
	defer r.stop()
	version, err := r.peer.version(ctx)
	if err != nil {
		return "", err
	}
	fmt.Printf("%s, %d %s files of %d bytes; peer: %s\n", protocol, set.files, set.name, set.bytes, version)
	var peers, floors rounds.Pairs
	var used []float64
	for i := range b.rounds {
		text := fmt.Sprintf("  round %d:", i+1)
		var least took
		if r.floor != nil {
			if least, err = r.time(fmt.Sprint("floor", i), func(dir string) error { return r.floor(ctx, dir) }); err != nil {
				return "", fmt.Errorf("the floor: %w", err)
			}
			text += fmt.Sprintf(" floor %.2f s (%.2f s of CPU),", least.wall, least.cpu)
		}
		o, err := r.time(fmt.Sprint("ours", i), func(dir string) error {
			return b.profiled(protocol+"-"+set.name, func() error { return r.ours(ctx, dir) })
		})
		if err != nil {
			return "", err
		}
		p, err := r.time(fmt.Sprint("peer", i), func(dir string) error { return r.peer.run(ctx, dir) })
		if err != nil {
			return "", fmt.Errorf("the peer: %w", err)
		}
		floors.Add(o.wall, least.wall)
		used = append(used, o.cpu)
		fmt.Printf("%s ours %.2f s (%.2f s of CPU), peer %.2f s (%.2f s of CPU), ratio %.2f\n", text, o.wall, o.cpu, p.wall, p.cpu, peers.Add(o.wall, p.wall))
	}
	more := []string{fmt.Sprintf("cpu=%.2fs", rounds.Median(used))}
	if r.floor != nil {
		more = append(more, fmt.Sprintf("floor=%.2fs of_floor=%.2f", floors.Peer(), floors.Ratio()))
	}
	return peers.Line("transfer "+protocol+" "+set.name, more...), nil
}

// profiled runs what is ours, noted in a profile of the row's last round.
func (b *bench) profiled(row string, run func() error) (err error) {
	if b.profile == "" {
		return run()
	}
	f, err := os.Create(b.profile + "-" + row)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return run()
}

// took is how long something took, in seconds of the clock and of the processors, its
// own children's with it.
type took struct{ wall, cpu float64 }

// time times what fills a folder with the row's files, and compares their number and
// bytes. Large ones are removed at once; small ones only at the end, since many file
// systems make new files slowly after many were deleted.
func (r *row) time(name string, run func(dir string) error) (took, error) {
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return took{}, err
	}
	syscall.Sync() // what the run before has only left to be written is not this one's to write
	before, start := processors(), time.Now()
	if err := run(dir); err != nil {
		return took{}, err
	}
	t := took{time.Since(start).Seconds(), processors() - before}
	if err := r.set.check(dir); err != nil {
		return took{}, err
	}
	if r.set.bytes >= 1<<20 {
		return t, os.RemoveAll(dir)
	}
	return t, nil
}

// processors is what this process and its children that have ended have used, in
// seconds.
func processors() (seconds float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err == nil { // there is nothing that it could complain of
			seconds += time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
		}
	}
	return seconds
}
