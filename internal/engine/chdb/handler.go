package chdb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxStatement bounds the text of a statement, data of INSERT .. VALUES
	// included. Batches are streamed and have no bound.
	maxStatement = 64 << 20
	// insertChunk is how much data of a batch is handed over at a time.
	insertChunk = 1 << 20
)

// handler answers what clickhouse-go sends over HTTP.
type handler struct {
	pool    *pool
	control *control
	version string
	tags    tagger
	log     *slog.Logger
}

// statement is one request.
type statement struct {
	database string
	settings map[string]string
	params   map[string]string
	format   string
	query    string    // the URL's part, may be empty
	body     io.Reader // the rest of the statement, or data
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ping" {
		_, _ = io.WriteString(w, "Ok.\n")
		return
	}
	out := newReply(w, r)
	if err := h.serve(r, out); err != nil {
		h.log.Debug("statement failed", "error", err)
		out.fail(err)
	}
}

func (h *handler) serve(r *http.Request, out *reply) error {
	st, err := parseRequest(r)
	if err != nil {
		return err
	}
	if st.query == "" {
		text, err := readText(st.body)
		if err != nil {
			return err
		}
		if isHello(string(text)) {
			if err := out.write(hello(h.version)); err != nil {
				return err
			}
			return out.end()
		}
		parts, ok := splitInsert(text)
		if ok && len(parts.data) > 0 {
			return h.insert(r.Context(), st, parts, strings.NewReader(string(parts.data)), out)
		}
		return h.run(r.Context(), st, string(text), out)
	}
	if parts, ok := splitInsert([]byte(st.query)); ok {
		return h.insert(r.Context(), st, parts, io.MultiReader(strings.NewReader(string(parts.data)), st.body), out)
	}
	text, err := readText(st.body)
	if err != nil {
		return err
	}
	return h.run(r.Context(), st, st.query+"\n"+string(text), out)
}

// parseRequest takes a request's parameters apart: what is not of the protocol
// is a setting, as in ClickHouse itself.
func parseRequest(r *http.Request) (*statement, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return nil, newException(codeNotImplemented, "NOT_IMPLEMENTED", "external tables are not supported by the embedded engine: insert the data into a table first")
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, newException(codeSyntax, "SYNTAX_ERROR", "the request's parameters can't be read: %v", err)
	}
	st := &statement{settings: map[string]string{}, params: map[string]string{}, format: "Native"}
	for name, values := range q {
		value := values[len(values)-1]
		switch name {
		case "database":
			st.database = value
		case "query":
			st.query = value
		case "default_format":
			st.format = value
		// Of the transport, or meaningless here.
		case "client_protocol_version", "compress", "decompress", "network_compression_method",
			"network_zstd_compression_level", "query_id", "quota_key", "session_id", "wait_end_of_query", "buffer_size",
			"send_progress_in_http_headers":
		default:
			if param, ok := strings.CutPrefix(name, "param_"); ok {
				st.params[param] = value
				continue
			}
			st.settings[name] = value
		}
	}
	st.body, err = requestBody(r)
	return st, err
}

func readText(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxStatement+1))
	if err != nil {
		return nil, fmt.Errorf("read the statement: %w", err)
	}
	if len(text) > maxStatement {
		return nil, newException(codeTooLarge, "TOO_MANY_BYTES", "the statement exceeds %d bytes: send the data as a batch", maxStatement)
	}
	return text, nil
}

// run runs anything but an INSERT with data apart.
func (h *handler) run(ctx context.Context, st *statement, text string, out *reply) error {
	c, err := h.pool.get(ctx, st.database, st.settings)
	if err != nil {
		return err
	}
	soiled := true
	defer func() { h.pool.put(c, soiled) }()
	a, err := c.classify(text)
	if err != nil {
		return err
	}
	if NamesAFile(text) {
		soiled = false
		return errFile()
	}
	if a.statements > 1 {
		soiled = false
		return newException(codeSyntax, "SYNTAX_ERROR", "several statements in one request are not allowed: send them one by one")
	}
	tag := h.tags.tag()
	defer h.control.watch(ctx, tag)()
	if a.class == classReadOnly && streamable(text) {
		soiled, err = h.read(c, st, tag+text, out)
		if err == nil && !out.started {
			h.emptyHeader(c, st, tag, text, out)
		}
	} else {
		var block []byte
		block, err = c.exec(tag+text, st.format, st.params)
		// Whatever a connection may keep of a statement (SET, USE, temporary
		// tables) must not reach the next request.
		soiled = a.class > classMutating || err != nil || strings.Contains(strings.ToUpper(text), "TEMPORARY")
		if err == nil && len(block) > 0 {
			err = out.write(block)
		}
	}
	if err != nil {
		return cancelled(ctx, err)
	}
	return out.end()
}

func errFile() error {
	return newException(codeNotImplemented, "NOT_IMPLEMENTED", "INTO OUTFILE and FROM INFILE are not served: files are the client's to read and write; these words are taken between plain quotes only, in a statement without comments")
}

// read streams the result of a SELECT, block by block.
func (h *handler) read(c *conn, st *statement, text string, out *reply) (soiled bool, err error) {
	s, err := c.stream(text, st.format, st.params)
	if err != nil {
		return false, err
	}
	ended := false
	defer func() { s.close(ended) }()
	for {
		block, err := s.next()
		if err != nil {
			return true, err
		}
		if len(block) == 0 {
			ended = true
			return false, nil
		}
		if err := out.write(block); err != nil {
			return true, err
		}
	}
}

// emptyHeader sends the columns of an empty result, which the engine leaves
// out. Statements that can't be described (SHOW, EXPLAIN) stay without.
func (h *handler) emptyHeader(c *conn, st *statement, tag, text string, out *reply) {
	if st.format != "Native" {
		return
	}
	text = strings.TrimRight(strings.TrimSpace(text), ";")
	rows, err := c.exec(tag+"DESCRIBE TABLE (\n"+text+"\n)", "JSONCompactEachRow", st.params)
	if err != nil {
		return
	}
	var names, types []string
	for dec := json.NewDecoder(strings.NewReader(string(rows))); dec.More(); {
		var row []any
		if err := dec.Decode(&row); err != nil || len(row) < 2 {
			return
		}
		name, _ := row[0].(string)
		typ, _ := row[1].(string)
		names, types = append(names, name), append(types, typ)
	}
	// A failure to send shows when the response is finished.
	_ = out.write(header(names, types))
}

// insert streams a batch into the engine.
func (h *handler) insert(ctx context.Context, st *statement, parts insertParts, data io.Reader, out *reply) error {
	if NamesAFile(parts.head) {
		return errFile()
	}
	c, err := h.pool.get(ctx, st.database, st.settings)
	if err != nil {
		return err
	}
	soiled := true
	defer func() { h.pool.put(c, soiled) }()
	tag := h.tags.tag()
	defer h.control.watch(ctx, tag)()
	ins, err := c.insert(tag+parts.head, parts.format, st.params)
	if err != nil {
		return cancelled(ctx, err)
	}
	finished := false
	defer func() { ins.close(finished) }()
	if err := feed(ins, data); err != nil {
		return cancelled(ctx, err)
	}
	finished = true
	if err := ins.done(); err != nil {
		return cancelled(ctx, err)
	}
	soiled = false
	return out.end()
}

// feed hands all data to an insert, in large pieces. A body that breaks off is
// an error, so that half a batch is never committed.
func feed(ins *insertion, data io.Reader) error {
	buf := make([]byte, insertChunk)
	for ended := false; !ended; {
		n := 0
		for n < len(buf) && !ended {
			m, err := data.Read(buf[n:])
			n += m
			if err == io.EOF { // not wrapped: a body cut short wraps it, or says so
				ended = true
			} else if err != nil {
				return fmt.Errorf("the batch broke off: %w", err)
			}
		}
		if n == 0 {
			return nil
		}
		if err := ins.append(buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

// cancelled says that a statement failed because its client went away.
func cancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return newException(codeCancelled, "QUERY_WAS_CANCELLED", "the client went away: %v", err)
	}
	return err
}
