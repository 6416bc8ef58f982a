package chdb

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// conn is one connection of the engine. It runs one statement at a time, and
// must be used by one goroutine at a time.
type conn struct {
	lib    *library
	handle uintptr // chdb_connection *, to close
	raw    uintptr // chdb_connection, to use
	// database and settings are what the connection is set to; base holds the
	// settings it was opened with.
	database string
	settings map[string]string
	base     map[string]string
}

// dial opens a connection; the first one in a process boots the engine.
func dial(lib *library, args []string, base map[string]string) (*conn, error) {
	argv := append([]string{"clickhouse"}, args...)
	for _, name := range slices.Sorted(maps.Keys(base)) {
		argv = append(argv, "--"+name+"="+base[name])
	}
	pointers := make([]*byte, 0, len(argv)+1)
	for _, a := range argv {
		pointers = append(pointers, (*byte)(ptr(append([]byte(a), 0))))
	}
	pointers = append(pointers, nil)
	handle := lib.connect(int32(len(argv)), unsafe.Pointer(&pointers[0]))
	runtime.KeepAlive(pointers)
	if handle == 0 {
		return nil, errors.New("the engine did not open its data directory (its own words are above, if any)")
	}
	return &conn{
		lib: lib, handle: handle, raw: *(*uintptr)(at(handle, 0)),
		database: "default", settings: maps.Clone(base), base: base,
	}, nil
}

func (c *conn) close() { c.lib.closeConn(c.handle) }

// exec runs a statement and returns its whole output.
func (c *conn) exec(query, format string, named map[string]string) ([]byte, error) {
	return c.lib.copyResult(start(c.lib.query, c.raw, query, format, named))
}

// use sets the connection to a database and to base plus settings. After an
// error the connection's state is not known and it must be closed.
func (c *conn) use(database string, settings map[string]string) error {
	want := maps.Clone(c.base)
	maps.Copy(want, settings)
	var set []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have, ok := c.settings[name]; !ok || have != want[name] {
			set = append(set, name+" = "+quote(want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		if _, ok := want[name]; !ok {
			set = append(set, name+" = DEFAULT")
		}
	}
	if len(set) > 0 {
		if _, err := c.exec("SET "+strings.Join(set, ", "), "Null", nil); err != nil {
			return err
		}
		c.settings = want
	}
	if database == "" {
		database = "default"
	}
	if database != c.database {
		if _, err := c.exec("USE "+quoteName(database), "Null", nil); err != nil {
			return err
		}
		c.database = database
	}
	return nil
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func quoteName(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

// What a statement does, as the engine's own parser says.
const (
	classReadOnly = 0
	classMutating = 1
	classUnknown  = 4
)

// analysis is chdb_query_analysis_v1.
type analysis struct {
	size, statements, flags, class uint32
}

// classify parses sql without running it.
func (c *conn) classify(sql string) (analysis, error) {
	a := &analysis{size: uint32(unsafe.Sizeof(analysis{}))}
	q := []byte(sql)
	state := c.lib.classify(c.raw, ptr(q), uintptr(len(q)), nil, 0, unsafe.Pointer(a))
	runtime.KeepAlive(q)
	if state != 0 {
		return analysis{}, errors.New("the engine could not look at the statement")
	}
	return *a, nil
}

// stream is a running SELECT.
type stream struct {
	c      *conn
	handle uintptr
}

func (c *conn) stream(query, format string, named map[string]string) (*stream, error) {
	handle := start(c.lib.streamQuery, c.raw, query, format, named)
	if handle == 0 {
		return nil, errors.New("the engine gave no result")
	}
	if msg := cString(c.lib.resultError(handle)); msg != "" {
		c.lib.destroyResult(handle)
		return nil, parseException(msg)
	}
	return &stream{c: c, handle: handle}, nil
}

// next returns the next block, or nothing at the end.
func (s *stream) next() ([]byte, error) {
	return s.c.lib.copyResult(s.c.lib.streamFetch(s.c.raw, s.handle))
}

// close frees the stream, and cancels it unless it was read to its end.
func (s *stream) close(ended bool) {
	if !ended {
		s.c.lib.streamCancel(s.c.raw, s.handle)
	}
	s.c.lib.destroyResult(s.handle)
}

// insertion is a running INSERT that is fed with data.
type insertion struct {
	c      *conn
	handle uintptr
}

func (c *conn) insert(query, format string, named map[string]string) (*insertion, error) {
	ins := &insertion{c: c, handle: start(c.lib.insert, c.raw, query, format, named)}
	if ins.handle == 0 {
		return nil, errors.New("the engine gave no insert")
	}
	if err := ins.err(); err != nil {
		ins.close(false)
		return nil, err
	}
	return ins, nil
}

func (i *insertion) err() error {
	if msg := cString(i.c.lib.insertError(i.handle)); msg != "" {
		return parseException(msg)
	}
	return nil
}

// append adds data. An error may be reported only by done.
func (i *insertion) append(data []byte) error {
	state := i.c.lib.insertAppend(i.handle, ptr(data), uintptr(len(data)))
	runtime.KeepAlive(data)
	if state == 0 {
		return nil
	}
	if err := i.err(); err != nil {
		return err
	}
	return errors.New("the engine refused data")
}

// done commits the insert.
func (i *insertion) done() error {
	_, err := i.c.lib.copyResult(i.c.lib.insertDone(i.handle))
	return err
}

// close frees the insert, and cancels it unless done was called.
func (i *insertion) close(finished bool) {
	if !finished {
		i.c.lib.insertCancel(i.handle)
	}
	i.c.lib.insertDestroy(i.handle)
}
