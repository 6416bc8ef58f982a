-- +goose Up

-- What became of accounts is read with all else that people ordered: by time, and by who.
CREATE INDEX account_change_at ON control.account_change (changed_at, number);
CREATE INDEX account_change_by ON control.account_change (changed_by, changed_at, number);
