-- +goose Up

-- Each position names the digest of the one before. Whoever draws one without
-- noting its digest is a member of an older program: once the chain has begun it
-- is refused, since what it drew would break the chain.
ALTER TABLE control.position ADD COLUMN digest bytea CHECK (length(digest) = 32);
COMMENT ON COLUMN control.position.digest IS 'SHA-256 of the value of the last position''s record, as it is published; null: the chain begins with the next one';

-- +goose StatementBegin
CREATE FUNCTION control.refuse_unchained() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.next <> OLD.next AND NEW.digest IS NOT DISTINCT FROM OLD.digest AND OLD.digest IS NOT NULL THEN
    RAISE EXCEPTION 'position_unchained: positions carry the digest of the one before, which this member does not know: it is of an older version and must be upgraded';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION control.refuse_unchained IS 'refuses positions that members of older programs draw once the chain of positions has begun';
CREATE TRIGGER refuse_unchained BEFORE UPDATE ON control.position FOR EACH ROW EXECUTE FUNCTION control.refuse_unchained();
