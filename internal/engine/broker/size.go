package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Log is how large an embedded broker's log is beside the memory that it must
// fit into: all of it is read when the broker opens.
type Log struct {
	Bytes  int64   // of all files of the broker
	Memory int64   // of the machine, or of the control group if that is less; 0: not known
	Share  float64 // of Memory that is too much; 0: nothing is
}

// MeasureLog measures the log in a broker's data directory, which may not exist
// yet.
func MeasureLog(dataDir string, share float64) (Log, error) {
	l := Log{Share: share, Memory: memory("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup")}
	err := filepath.WalkDir(dataDir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				l.Bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or nothing was ever there
			return nil
		}
		return err
	})
	if err != nil {
		return l, fmt.Errorf("size of the embedded broker's log: %w", err)
	}
	return l, nil
}

// Alarm says that the log is too large and what to do; empty: it is not.
func (l Log) Alarm() string {
	if l.Memory == 0 || l.Share == 0 || float64(l.Bytes) < l.Share*float64(l.Memory) {
		return ""
	}
	return fmt.Sprintf("the embedded broker's log has %s, which is %.0f %% of this machine's memory of %s, and all of it is read when the broker opens "+
		"(kafka.log_alarm_share: %v): move to Apache Kafka as docs/how-to/move-to-apache-kafka.md says, or give the machine more memory",
		mebibytes(l.Bytes), 100*float64(l.Bytes)/float64(l.Memory), mebibytes(l.Memory), l.Share)
}

func mebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }

// memory is the machine's memory, or what the process's control group may take
// if that is less.
func memory(meminfo, own, groups string) int64 {
	total := machineMemory(meminfo)
	for _, file := range groupLimits(own, groups) {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// "max", or a number beyond any machine, is no limit.
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}

func machineMemory(meminfo string) int64 {
	b, err := os.ReadFile(meminfo)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// groupLimits are the files that limit the process's memory: of its control
// group and of those above it, in both versions of control groups.
func groupLimits(own, groups string) []string {
	var files []string
	b, err := os.ReadFile(own)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, name := groups, "memory.max"
		if parts[1] == "memory" {
			root, name = filepath.Join(groups, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for dir := filepath.Clean("/" + parts[2]); ; dir = filepath.Dir(dir) {
			files = append(files, filepath.Join(root, dir, name))
			if dir == "/" {
				break
			}
		}
	}
	return files
}
