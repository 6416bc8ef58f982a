package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/queries/lineage"
)

// lineage registers what is asked about where rows of the warehouse come from.
func (a *API) lineage() {
	type file struct {
		Action string `path:"action" enum:"add,edit,delete" doc:"the action of the file's directory"`
		Name   string `path:"name" maxLength:"1024" doc:"the file's name"`
		After  int64  `query:"after" minimum:"0" doc:"next of the part before"`
		Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"how many documents at most"`
	}
	get(a, "/files/{action}/{name}/lineage", "getFileLineage", "What each document of a file put into the warehouse, the latest version first", func(ctx context.Context, in *file) (p part[*lineage.Brought], err error) {
		p.Rows = []*lineage.Brought{}
		if a.deps.Lineage == nil {
			return p, notHere()
		}
		more, err := a.deps.Lineage.FilePage(ctx, in.Name, in.Action, in.After, in.Limit, func(b *lineage.Brought) error {
			p.Rows = append(p.Rows, b)
			return nil
		})
		if more {
			p.Next = strconv.FormatInt(p.Rows[len(p.Rows)-1].Document.Position, 10)
		}
		return p, notLoaded(err, "No document of this file was ordered to be loaded.")
	})
	type row struct {
		Position int64 `path:"position" minimum:"1" doc:"of its document in the order of loading"`
		Ordinal  int32 `path:"ordinal" minimum:"1" doc:"of the row in the document"`
	}
	get(a, "/lineage/{position}/{ordinal}", "getLineage", "Where a row of the warehouse comes from: the claims on its record's key, the greatest first", func(ctx context.Context, in *row) (*lineage.Lineage, error) {
		if a.deps.Lineage == nil {
			return nil, notHere()
		}
		l, err := a.deps.Lineage.Row(ctx, "", in.Position, in.Ordinal)
		return l, notLoaded(err, "The warehouse has no such row.")
	})
	a.orNull("Lineage", "row")
	type key struct {
		Of []string `query:"of,explode" required:"true" minItems:"1" maxItems:"100" doc:"a table and the key of a record, one after another: values in the profile's order, empty for one that is absent, or COLUMN=VALUE; or POSITION/ORDINAL, with or without a table"`
	}
	get(a, "/lineage", "findLineage", "Where a record of the warehouse comes from, by its key or its place: the claims on it, the greatest first", func(ctx context.Context, in *key) (*lineage.Lineage, error) {
		if a.deps.Lineage == nil {
			return nil, notHere()
		}
		if len(in.Of) == 1 {
			if _, _, place := lineage.ParsePlace(in.Of[0]); !place {
				return nil, &refusal{"bad_filter", http.StatusBadRequest, "of: a key is missing behind the table."}
			}
		}
		for _, word := range in.Of {
			if !clean(word) || len(word) > maxWord {
				return nil, &refusal{"bad_filter", http.StatusBadRequest, "of: this is no part of a key."}
			}
		}
		l, err := a.deps.Lineage.Trace(ctx, in.Of)
		var answered *pgconn.PgError
		var away *pgconn.ConnectError
		switch {
		case err == nil, errors.As(err, &answered), errors.As(err, &away), ctx.Err() != nil:
			return l, err
		case errors.Is(err, lineage.ErrNotFound):
			return nil, notFound("row", err.Error())
		}
		return nil, &refusal{"bad_filter", http.StatusBadRequest, err.Error()} // such a table, or such a key, can't be
	})
}

// maxWord bounds each part of a key that is asked for, in bytes.
const maxWord = 10_000

func notLoaded(err error, detail string) error {
	if errors.Is(err, lineage.ErrNotFound) {
		return notFound("row", detail)
	}
	return err
}
