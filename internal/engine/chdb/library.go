package chdb

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// library is the C interface of libchdb that is used here. Handles are opaque
// pointers into C memory.
type library struct {
	setSignalHandlers func(enabled int32)
	connect           func(argc int32, argv unsafe.Pointer) uintptr
	closeConn         func(conn uintptr)
	query             func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	streamQuery func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	streamFetch   func(conn, stream uintptr) uintptr
	streamCancel  func(conn, stream uintptr)
	destroyResult func(result uintptr)
	resultBuffer  func(result uintptr) uintptr
	resultLength  func(result uintptr) uintptr
	resultError   func(result uintptr) uintptr
	insert        func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	insertAppend  func(insert uintptr, data unsafe.Pointer, length uintptr) int32
	insertDone    func(insert uintptr) uintptr
	insertCancel  func(insert uintptr)
	insertError   func(insert uintptr) uintptr
	insertDestroy func(insert uintptr)
	classify      func(conn uintptr, sql unsafe.Pointer, sqlLen uintptr, db unsafe.Pointer, dbLen uintptr, out unsafe.Pointer) int32
	shutdown      func() int32
}

// Bind opens the library at path and sets each function to which functions has a pointer,
// by its name in C (sharedlib.Bind does). Who starts the child hands it in.
type Bind func(path string, functions map[string]any) error

// load opens libchdb.so. It stays in the process for good.
func load(path string, bind Bind) (*library, error) {
	l := &library{}
	if err := bind(path, map[string]any{
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_query_with_params_n":         &l.query,
		"chdb_stream_query_with_params_n":  &l.streamQuery,
		"chdb_stream_fetch_result":         &l.streamFetch,
		"chdb_stream_cancel_query":         &l.streamCancel,
		"chdb_destroy_query_result":        &l.destroyResult,
		"chdb_result_buffer":               &l.resultBuffer,
		"chdb_result_length":               &l.resultLength,
		"chdb_result_error":                &l.resultError,
		"chdb_stream_insert_with_params_n": &l.insert,
		"chdb_stream_append":               &l.insertAppend,
		"chdb_stream_done":                 &l.insertDone,
		"chdb_stream_cancel_insert":        &l.insertCancel,
		"chdb_stream_insert_error":         &l.insertError,
		"chdb_destroy_insert_stream":       &l.insertDestroy,
		"chdb_classify_query_n":            &l.classify,
		"chdb_shutdown":                    &l.shutdown,
	}); err != nil {
		return nil, fmt.Errorf("%w: fetch the engines again with: tributary engines fetch", err)
	}
	return l, nil
}

// ptr is the address of b's bytes; never nil, as C reads a pointer even where
// the length is 0.
func ptr(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return unsafe.Pointer(&[]byte{0}[0])
	}
	return unsafe.Pointer(&b[0])
}

// params is a list of named values in the form that the C interface takes.
type params struct {
	names, values         []*byte
	nameLens, valueLens   []uintptr
	pNames, pValues       unsafe.Pointer
	pNameLens, pValueLens unsafe.Pointer
}

func newParams(named map[string]string) *params {
	p := &params{}
	for name, value := range named {
		p.names = append(p.names, (*byte)(ptr([]byte(name))))
		p.nameLens = append(p.nameLens, uintptr(len(name)))
		p.values = append(p.values, (*byte)(ptr([]byte(value))))
		p.valueLens = append(p.valueLens, uintptr(len(value)))
	}
	if len(named) > 0 {
		p.pNames, p.pNameLens = unsafe.Pointer(&p.names[0]), unsafe.Pointer(&p.nameLens[0])
		p.pValues, p.pValueLens = unsafe.Pointer(&p.values[0]), unsafe.Pointer(&p.valueLens[0])
	}
	return p
}

// start calls one of the three functions that begin a statement.
func start(fn func(uintptr, unsafe.Pointer, uintptr, unsafe.Pointer, uintptr, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, uintptr) uintptr,
	conn uintptr, query, format string, named map[string]string) uintptr {
	q, f, p := []byte(query), []byte(format), newParams(named)
	result := fn(conn, ptr(q), uintptr(len(q)), ptr(f), uintptr(len(f)),
		p.pNames, p.pNameLens, p.pValues, p.pValueLens, uintptr(len(p.names)))
	runtime.KeepAlive(q)
	runtime.KeepAlive(f)
	runtime.KeepAlive(p)
	return result
}

// cString copies a C string; "" for NULL.
func cString(p uintptr) string {
	if p == 0 {
		return ""
	}
	n := 0
	for *(*byte)(at(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(at(p, 0)), n))
}

// at is the address of a byte in C memory. The indirection tells vet that the
// number is an address that the garbage collector knows nothing of.
func at(p uintptr, offset int) unsafe.Pointer {
	return unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&p)), offset)
}

// copyResult copies out and frees a result.
func (l *library) copyResult(result uintptr) ([]byte, error) {
	if result == 0 {
		return nil, errors.New("the engine gave no result")
	}
	defer l.destroyResult(result)
	if msg := cString(l.resultError(result)); msg != "" {
		return nil, parseException(msg)
	}
	n := int(l.resultLength(result))
	if n == 0 {
		return nil, nil
	}
	out := make([]byte, n)
	copy(out, unsafe.Slice((*byte)(at(l.resultBuffer(result), 0)), n))
	return out, nil
}
