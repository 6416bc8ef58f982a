package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// repairLog cuts off the end of one of kfake's state logs from the first entry
// that is not whole, as kfake reads it: it would ignore that end, and all that
// it appends behind it. The cut bytes are kept beside the log, under the name
// with ".torn" added, in case it was not an interrupted write that spoilt them.
func repairLog(path string) (cut int, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("check log: %w", err)
	}
	valid := validPrefix(raw)
	if valid == len(raw) {
		return 0, nil
	}
	return cutOff(path, raw, valid)
}

// cutOff cuts a file off behind its first bytes, and keeps the rest beside it.
func cutOff(path string, raw []byte, valid int) (cut int, err error) {
	if err := os.WriteFile(path+".torn", raw[valid:], 0o600); err != nil {
		return 0, fmt.Errorf("keep the torn end of a log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("repair log: %w", err)
	}
	err = f.Truncate(int64(valid))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("repair log: %w", err)
	}
	return len(raw) - valid, nil
}

// validPrefix is the length of the whole entries at the start of a log. Each is
// the length of what follows the checksum, the checksum (CRC-32C), two bytes of
// version and the data, numbers in little endian.
func validPrefix(raw []byte) int {
	table := crc32.MakeTable(crc32.Castagnoli)
	pos := 0
	for len(raw)-pos >= 10 {
		length := int64(binary.LittleEndian.Uint32(raw[pos:]))
		end := int64(pos) + 8 + length
		if length < 2 || end > int64(len(raw)) {
			break
		}
		if crc32.Checksum(raw[pos+8:end], table) != binary.LittleEndian.Uint32(raw[pos+4:]) {
			break
		}
		pos = int(end)
	}
	return pos
}
