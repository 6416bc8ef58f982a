-- +goose Up

-- A version of which some documents were ordered when control was lost goes on with the
-- others. Members of older programs order all of them, as before.
CREATE TABLE control.ordered_document (
  run uuid NOT NULL, file uuid NOT NULL, attempt int NOT NULL, download text NOT NULL, unzip text NOT NULL, document uuid NOT NULL,
  PRIMARY KEY (run, file, attempt, download, unzip, document));
COMMENT ON TABLE control.ordered_document IS 'documents that had their positions when control was restored, of versions that had not all of theirs';
