-- +goose Up

-- Documents that nobody could load are looked for among millions.
CREATE INDEX document_quarantined ON warehouse.document (position) WHERE exception = 'quarantined' AND phase = 'upload';
COMMENT ON INDEX warehouse.document_quarantined IS 'documents that insert gave up: they are listed with the dead letters';
