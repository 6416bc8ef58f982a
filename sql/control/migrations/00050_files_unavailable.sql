-- +goose Up

-- Files whose sources are away are looked for whenever a source is there again, among all
-- that wait to be tried again for other reasons.
CREATE INDEX acquisition_unavailable ON control.acquisition (retry_at) WHERE retry_at IS NOT NULL AND exception = 'source_unavailable';
