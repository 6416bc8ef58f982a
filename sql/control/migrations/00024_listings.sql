-- +goose Up

-- What servers showed lies in the blob store; here is which blobs that are, so that
-- the next listing of a source is kept as what differs, and old ones are deleted.
CREATE TABLE control.listing (
  sha256 text PRIMARY KEY,
  source text NOT NULL,
  base text REFERENCES control.listing,
  digest text NOT NULL,
  entries bigint NOT NULL,
  bytes bigint NOT NULL,
  listed_at timestamptz NOT NULL);
CREATE INDEX listing_of_source ON control.listing (source, listed_at);
CREATE INDEX listing_by_age ON control.listing (listed_at);
CREATE INDEX listing_by_base ON control.listing (base) WHERE base IS NOT NULL;
CREATE INDEX listing_by_name ON control.listing (sha256 COLLATE "C");
COMMENT ON TABLE control.listing IS 'listings that are kept: one per blob, however many polls showed the same';
COMMENT ON COLUMN control.listing.sha256 IS 'the blob';
COMMENT ON COLUMN control.listing.base IS 'the listing of which the blob holds the difference; null: it holds all entries';
COMMENT ON COLUMN control.listing.digest IS 'sha256 of all entries: the same where the same was shown';
COMMENT ON COLUMN control.listing.entries IS 'how many entries the listing has';
COMMENT ON COLUMN control.listing.bytes IS 'size of the blob';
COMMENT ON COLUMN control.listing.listed_at IS 'when the last poll ended that showed this';
