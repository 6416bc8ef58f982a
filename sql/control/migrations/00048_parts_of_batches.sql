-- +goose Up

-- A batch may be released in parts: it has its number from the first one on.
ALTER TABLE control.acquisition ADD COLUMN ordered boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN control.acquisition.ordered IS 'its documents had their positions before its batch was out; once a batch is out, all that is complete in it has them';
COMMENT ON COLUMN control.batch.number IS 'its place among the batches of its domain, from its first position on';
ALTER TABLE control.batch ADD COLUMN documents bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.batch.documents IS 'how many have their positions by parts';
-- What is complete and has no positions is looked for while others end.
CREATE INDEX acquisition_of_batch ON control.acquisition (batch, ordered, result);
DROP INDEX control.acquisition_batch;

-- +goose StatementBegin
CREATE FUNCTION control.batch_has_begun() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'batch_has_begun: parts of the batch have their positions, which this member does not know: it is of an older version and must be upgraded';
END $$;
-- +goose StatementEnd
CREATE TRIGGER batch_has_begun BEFORE UPDATE OF number ON control.batch FOR EACH ROW
  WHEN (OLD.number IS NOT NULL AND NEW.number IS DISTINCT FROM OLD.number) EXECUTE FUNCTION control.batch_has_begun();
