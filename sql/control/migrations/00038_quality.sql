-- +goose Up

-- What people decided last about documents in quality control, by their bytes. It keeps
-- nothing from being done: an older member knows nothing of it, and does what it did.
CREATE TABLE control.quality (
  id uuid PRIMARY KEY,
  decision text NOT NULL CHECK (decision IN ('', 'accepted', 'questioned', 'held')),
  revision bigint NOT NULL);
COMMENT ON TABLE control.quality IS 'what people decided last about documents in quality control; the tracker has who, when and why';
COMMENT ON COLUMN control.quality.id IS 'follows from file, document and its bytes';
COMMENT ON COLUMN control.quality.decision IS 'accepted, questioned or held; empty: nothing yet';
COMMENT ON COLUMN control.quality.revision IS 'how often something was decided';
