-- +goose Up

-- A session that is closed names the earliest task of it that failed.
CREATE INDEX acquisition_failed ON control.acquisition (batch) WHERE result = 'failed';
