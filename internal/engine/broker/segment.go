package broker

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checkSegments reads the partitions' logs before kfake does, which cuts off all that is
// behind the first batch that it can't read. What an interrupted write left at the end is
// cut off, and kept beside. Anything else that is damaged is an error, and nothing is
// changed: the log is the record, and what is behind the damage is whole.
func checkSegments(dataDir string, log *slog.Logger) error {
	dirs, err := filepath.Glob(filepath.Join(dataDir, "partitions", "*"))
	if err != nil {
		return fmt.Errorf("look for logs: %w", err)
	}
	for _, dir := range dirs {
		bases, err := segmentsOf(dir)
		if err != nil {
			return err
		}
		for i, base := range bases {
			cut, err := checkSegment(filepath.Join(dir, strconv.FormatInt(base, 10)+".dat"), i == len(bases)-1)
			if err != nil {
				return err
			}
			if cut > 0 {
				log.Warn("cut off a torn end that an interrupted write left", "partition", filepath.Base(dir), "bytes", cut)
			}
		}
	}
	return nil
}

// segmentsOf are the offsets with which the segments of a partition begin, in order.
func segmentsOf(dir string) (bases []int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for logs: %w", err)
	}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".dat")
		if base, err := strconv.ParseInt(name, 10, 64); is && err == nil {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

// checkSegment reads one segment; only the last of a partition is written to, and can have a
// torn end.
func checkSegment(path string, last bool) (cut int, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("check log: %w", err)
	}
	from := 0
	for from < len(raw) {
		n := wholeBatch(raw[from:])
		if n == 0 {
			break
		}
		from += n
	}
	if from == len(raw) {
		return 0, nil
	}
	to := from + 1
	for to < len(raw) && wholeBatch(raw[to:]) == 0 {
		to++
	}
	if last && to == len(raw) {
		return cutOff(path, raw, from)
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	return 0, fmt.Errorf("the log of %s is damaged from byte %[2]d to byte %[3]d of the %[4]d of %[5]s, and nothing was changed: put the file back from a backup; "+
		"where there is none, leave these bytes out, which loses the events in them and no others: "+
		"cd '%[6]s' && mv %[7]s %[7]s.damaged-%[2]d && { head -c %[2]d %[7]s.damaged-%[2]d; tail -c +%[8]d %[7]s.damaged-%[2]d; } > %[7]s",
		filepath.Base(dir), from, to, len(raw), path, dir, name, to+1)
}

// batchHead is what comes before the records of a batch: its first offset (8 bytes), the length
// of what follows (4), the leader's epoch (4), the format's number, which is 2 (1), the
// checksum (4) of all that is behind it, and more.
const (
	batchHead   = 61
	batchMagic  = 16
	batchSummed = 21
)

// wholeBatch is how many bytes the whole batch has with which raw begins; 0: there is none.
func wholeBatch(raw []byte) int {
	if len(raw) < batchHead || raw[batchMagic] != 2 {
		return 0
	}
	size := 12 + int64(binary.BigEndian.Uint32(raw[8:]))
	if size < batchHead || size > int64(len(raw)) {
		return 0
	}
	if crc32.Checksum(raw[batchSummed:size], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(raw[batchSummed-4:]) {
		return 0
	}
	return int(size)
}
