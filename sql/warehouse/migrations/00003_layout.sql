-- +goose Up

-- A row has one line, and belongs to every claim of its content: where each has
-- it follows from where the records begin, if their rows lie alike.
ALTER TABLE warehouse.claim
  ADD COLUMN layout int NOT NULL DEFAULT 0,
  ADD COLUMN line_shift int NOT NULL DEFAULT 0;
COMMENT ON COLUMN warehouse.claim.layout IS 'digest of the lines of its rows relative to the record''s: content is shared by claims of equal layout';
COMMENT ON COLUMN warehouse.claim.line_shift IS 'by how many lines the record begins later than in the document whose rows hold the content';
-- Shared before layouts were looked at: right where the rows do lie alike.
UPDATE warehouse.claim c SET line_shift = c.line - o.line FROM warehouse.claim o
  WHERE o.position = c.content_position AND o.ordinal = c.content_ordinal AND o.line <> c.line;
