package centrereport

import (
	"context"
	"strings"
)

// withFindings finds the files that have findings which somebody should act
// upon, as the warehouse names them. One more than can be listed tells that
// there are more.
func (r *reader) withFindings(ctx context.Context) error {
	return query(ctx, r.warehouse, func(k fileKey) { r.flagged = append(r.flagged, k) },
		`SELECT DISTINCT d.file_name COLLATE "C" AS file, d.action FROM warehouse.finding f JOIN warehouse.document d USING (position)
		WHERE f.centre = $1 AND f.open AND f.level <> 'info' ORDER BY 1, 2 LIMIT $2`, r.out.Centre, r.o.Limits.Files+1)
}

func (r *reader) problems(ctx context.Context) error {
	r.at, r.byName = map[string]int{}, map[fileKey]int{}
	names, actions := make([]string, len(r.flagged)), make([]string, len(r.flagged))
	for i, k := range r.flagged {
		names[i], actions[i] = k.File, k.Action
	}
	return query(ctx, r.tracker, func(p struct {
		ID string
		File
		Total int64
	}) {
		r.at[p.ID], r.byName[fileKey{p.File.File, p.Action}] = len(r.ids), len(r.ids)
		r.ids, r.out.Problems = append(r.ids, p.ID), append(r.out.Problems, p.File)
		r.out.ProblemsLeft = p.Total - int64(len(r.ids))
	}, mine+`SELECT id::text, file, action, phase, status, CASE WHEN phase_id <= {phase unzip} THEN coalesce(exception, '') ELSE '' END AS exception,
			CASE WHEN phase_id <= {phase unzip} THEN coalesce(message, '') ELSE '' END AS message, attempts, `+moment+` AS last, count(*) OVER () AS total FROM mine
		WHERE status = 'failed' OR documents_failed > 0 OR (file, action) IN (SELECT * FROM unnest($3::text[], $4::text[]))
		ORDER BY file COLLATE "C", action LIMIT $5`, r.out.Centre, r.out.Since, names, actions, r.o.Limits.Files)
}

// documents finds the failed documents of the listed files.
func (r *reader) documents(ctx context.Context) error {
	r.byID, r.positions = map[string]documentKey{}, map[int64]documentKey{}
	return query(ctx, r.tracker, func(p struct {
		File, ID string
		Document
		Exception, Message string
		Position           *int64
		Total              int64
	}) {
		f, d := &r.out.Problems[r.at[p.File]], p.Document
		if len(f.Documents) == r.o.Limits.Documents {
			f.DocumentsLeft = p.Total - int64(len(f.Documents))
			return
		}
		key := documentKey{r.at[p.File], len(f.Documents)}
		r.byID[p.ID] = key
		if p.Position != nil {
			r.positions[*p.Position] = key
		}
		d.exception, d.message = p.Exception, p.Message
		f.Documents = append(f.Documents, d)
	}, `SELECT file, id, document, phase, status, coalesce(exception, '') AS exception, coalesce(message, '') AS message,
			CASE WHEN checked THEN 0 ELSE errors_total END AS left, position, total FROM ( -- findings of what was checked are read from the warehouse
			SELECT file_id::text AS file, d.id::text AS id, d.document, d.phase, d.status, d.exception, d.message, d.errors_total::bigint, d.position, d.phase_id >= {phase data} AS checked,
				count(*) OVER w AS total, row_number() OVER (w ORDER BY d.document COLLATE "C", d.ordinal) AS n
			FROM tracker.document d WHERE d.file_id = ANY($1::uuid[]) AND d.status = 'failed' WINDOW w AS (PARTITION BY d.file_id)) d
		WHERE n <= $2 + 1 ORDER BY file, n`, r.ids, r.o.Limits.Documents)
}

// errors reads what the tracker knows of the listed documents.
func (r *reader) errors(ctx context.Context) error {
	ids := make([]string, 0, len(r.byID))
	for id, k := range r.byID {
		if r.out.Problems[k.file].Documents[k.document].Left > 0 {
			ids = append(ids, id)
		}
	}
	return query(ctx, r.tracker, func(p struct {
		ID string
		Error
	}) {
		k := r.byID[p.ID]
		r.add(&r.out.Problems[k.file].Documents[k.document], p.Error)
	}, `SELECT l.id, l.line, l.col AS column, 'error' AS level, l.name, l.message FROM (
			SELECT l.xml_id::text AS id, coalesce(l.line, 0) AS line, coalesce(l.col, 0) AS col, x.short_name AS name, coalesce(l.message, '') AS message,
				row_number() OVER (PARTITION BY l.xml_id ORDER BY l.ordinal) AS n
			FROM tracker.xml_log l JOIN tracker.an_exception x ON x.id = l.exception_id WHERE l.xml_id = ANY($1::uuid[])) l
		JOIN tracker.xml_file d ON d.id = l.id::uuid JOIN tracker.zip_download z ON z.id = d.zip_id
		WHERE l.n <= $2 ORDER BY z.za_id, d.fname COLLATE "C", l.id, l.n LIMIT $3`, ids, r.o.Limits.Errors, r.o.Limits.Lines)
}

// add lists an error that was counted as left out before.
func (r *reader) add(d *Document, e Error) {
	if r.lines >= r.o.Limits.Lines {
		return
	}
	r.lines++
	d.Errors, d.Left = append(d.Errors, e), max(0, d.Left-1)
}

// findings reads the open findings of the listed files' documents, of whatever
// version: what is loaded may be an earlier one.
func (r *reader) findings(ctx context.Context) error {
	names, actions := make([]string, len(r.out.Problems)), make([]string, len(r.out.Problems))
	for i, f := range r.out.Problems {
		names[i], actions[i] = f.File, f.Action
	}
	counted := map[int64]bool{}
	return query(ctx, r.warehouse, func(p struct {
		Position, Total                     int64
		FileName, Action, Entry, RecordType string
		NaturalKey                          []*string
		Error
	}) {
		at, listed := r.positions[p.Position]
		if !listed {
			file := r.byName[fileKey{p.FileName, p.Action}]
			f := &r.out.Problems[file]
			if counted[p.Position] {
				return
			}
			if len(f.Documents) == r.o.Limits.Documents {
				counted[p.Position] = true
				f.DocumentsLeft++
				r.beyond = append(r.beyond, p.Position)
				return
			}
			at = documentKey{file, len(f.Documents)}
			r.positions[p.Position] = at
			f.Documents = append(f.Documents, Document{Document: p.Entry, Earlier: true})
		}
		d := &r.out.Problems[at.file].Documents[at.document]
		if !counted[p.Position] {
			counted[p.Position] = true
			d.Left += p.Total
		}
		p.Record = Record(p.RecordType, p.NaturalKey)
		r.add(d, p.Error)
	}, `SELECT f.position, d.file_name, d.action, d.entry, f.record_type, c.natural_key, f.line, f.col AS column, f.level, f.test AS name, f.message, f.total FROM (
			SELECT *, row_number() OVER (w ORDER BY severity, line, col, ordinal, test) AS n, count(*) OVER w AS total, min(severity) OVER w AS worst FROM (
				SELECT *, array_position(ARRAY['error','warn','info'], level) AS severity FROM warehouse.finding
				WHERE open AND position IN (SELECT position FROM warehouse.document WHERE (file_name, action) IN (SELECT * FROM unnest($1::text[], $2::text[])))) f
			WINDOW w AS (PARTITION BY position)) f
		JOIN warehouse.document d USING (position)
		LEFT JOIN warehouse.claim c ON c.position = f.position AND c.ordinal = f.record
		WHERE n <= $3 AND worst < 3 ORDER BY d.file_name COLLATE "C", d.action, d.entry COLLATE "C", f.position, n LIMIT $4`,
		names, actions, r.o.Limits.Errors, r.o.Limits.Lines)
}

// complete says where the documents stand that only the warehouse told of, and
// gives the reason of each document whose errors are not listed one by one.
func (r *reader) complete(ctx context.Context) error {
	var open []int64
	for position, k := range r.positions {
		if r.out.Problems[k.file].Documents[k.document].Earlier {
			open = append(open, position)
		}
	}
	if err := query(ctx, r.tracker, func(p struct {
		Position      int64
		Phase, Status string
	}) {
		k := r.positions[p.Position]
		d := &r.out.Problems[k.file].Documents[k.document]
		d.Phase, d.Status, d.Earlier = p.Phase, p.Status, false
	}, `SELECT position, phase, status FROM tracker.document WHERE file_id = ANY($1::uuid[]) AND position = ANY($2::bigint[])`, r.ids, open); err != nil {
		return err
	}
	// Failed documents beyond the limit were counted by the tracker already.
	if err := query(ctx, r.tracker, func(p struct {
		File  string
		Twice int64
	}) {
		r.out.Problems[r.at[p.File]].DocumentsLeft -= p.Twice
	}, `SELECT file_id::text AS file, count(*) AS twice FROM tracker.document WHERE file_id = ANY($1::uuid[]) AND position = ANY($2::bigint[]) AND status = 'failed' GROUP BY 1`, r.ids, r.beyond); err != nil {
		return err
	}
	for i := range r.out.Problems {
		for j := range r.out.Problems[i].Documents {
			if d := &r.out.Problems[i].Documents[j]; len(d.Errors) == 0 && d.Left == 0 && d.exception != "" {
				d.Errors = []Error{{Level: "error", Name: d.exception, Message: d.message}}
			}
		}
	}
	return nil
}

// Record names a record for people: its table and natural key, of which absent
// values are left out.
func Record(table string, key []*string) string {
	parts := []string{}
	for _, k := range key {
		if k != nil && *k != "" {
			parts = append(parts, plainList(*k))
		}
	}
	if len(parts) == 0 {
		return table
	}
	return table + " " + strings.Join(parts, ", ")
}

// plainList is a list that Postgres writes as {"a","b"} as people write it.
func plainList(text string) string {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return text
	}
	return strings.NewReplacer(`","`, "+", `"`, "", ",", "+").Replace(text[1 : len(text)-1])
}
