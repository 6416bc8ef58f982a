package schemas

import (
	"encoding/hex"
)

// TraceID is the trace of a file: of what one run does with it and, in the live
// run, of what follows from one session's finding it. It is 16 bytes, as W3C Trace
// Context has them, and follows from the names alone, so that every event of the
// file names the same trace, whoever writes it and however often.
func TraceID(run, session, file string) [16]byte {
	if run != LiveRun {
		session = "" // a replay processes a file once, whatever found it
	}
	return UUID("trace", run, session, file)
}

// RootSpanID is the span below which all others of a trace stand.
func RootSpanID(trace [16]byte) [8]byte { return [8]byte(trace[8:]) }

// traced is an event of one file. The bodies of events are, by the structs that
// they embed; DownloadRequested is not, which may hold several files.
type traced interface {
	scope() Scope
	file() string
}

func (s Scope) scope() Scope   { return s }
func (f FileRef) file() string { return f.File }

// traceparent is the trace context of an event, in the version 00 of the W3C's
// format; empty where the event is not about one file.
func traceparent(body any) string {
	e, ok := body.(traced)
	if !ok || e.file() == "" {
		return ""
	}
	trace := TraceID(e.scope().Run, e.scope().Session, e.file())
	root := RootSpanID(trace)
	var room [55]byte
	text := hex.AppendEncode(append(room[:0], "00-"...), trace[:])
	text = hex.AppendEncode(append(text, '-'), root[:])
	return string(append(text, "-01"...))
}
