-- +goose Up

-- Open findings of a check are listed in the order of their documents, a page at a
-- time: a page of a million takes no longer than one of a hundred.
CREATE INDEX finding_listed ON warehouse.finding (centre, test, position, ordinal) WHERE open;
DROP INDEX warehouse.finding_open;
