-- +goose Up

-- How the files of a source stand is counted up to a bound, without reading them all.
CREATE INDEX done_with_counts ON control.done_with (source, state, exception);
