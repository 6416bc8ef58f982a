-- +goose Up

-- What people decide about documents in quality control: the phase qc. A decision is about
-- bytes, so that it holds for whatever attempt brings them.
CREATE TABLE tracker.quality (
  id uuid PRIMARY KEY,
  za_id uuid NOT NULL REFERENCES tracker.zip_action ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  fname text NOT NULL, content_sha256 text NOT NULL,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  decision text NOT NULL, decided_by text, reason text, decided timestamptz NOT NULL, revision bigint NOT NULL,
  created timestamptz NOT NULL, merge text NOT NULL);
CREATE INDEX ON tracker.quality (za_id);
COMMENT ON TABLE tracker.quality IS 'what people decided last about documents in quality control, by their bytes';
COMMENT ON COLUMN tracker.quality.id IS 'follows from file, document and its bytes';
COMMENT ON COLUMN tracker.quality.za_id IS 'the file that the document is of';
COMMENT ON COLUMN tracker.quality.fname IS 'the name of the document';
COMMENT ON COLUMN tracker.quality.content_sha256 IS 'sha256 of its bytes, which the decision is about';
COMMENT ON COLUMN tracker.quality.status_id IS 'how the phase qc stands by it: done, running or cancelled';
COMMENT ON COLUMN tracker.quality.decision IS 'accepted, questioned or held';
COMMENT ON COLUMN tracker.quality.decided_by IS 'who decided';
COMMENT ON COLUMN tracker.quality.reason IS 'why, as they said';
COMMENT ON COLUMN tracker.quality.decided IS 'when';
COMMENT ON COLUMN tracker.quality.revision IS 'which decision about these bytes this is, from 1; the last counts';
COMMENT ON COLUMN tracker.quality.created IS 'time of the first event that tells of it';
COMMENT ON COLUMN tracker.quality.merge IS 'what the tracker remembers in order to merge events that come late';

ALTER TABLE tracker.xml_file ADD COLUMN quality_id uuid REFERENCES tracker.quality ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
COMMENT ON COLUMN tracker.xml_file.quality_id IS 'what was decided about it, while it stands at qc; else null';
-- Documents that are loaded, and that nobody has decided about; and those that somebody has.
CREATE INDEX xml_file_awaiting_idx ON tracker.xml_file (zip_id, outcome) WHERE phase_id = {phase overview} AND status_id = {status done};
CREATE INDEX xml_file_decided_idx ON tracker.xml_file (status_id, zip_id, outcome) WHERE phase_id = {phase qc};

CREATE OR REPLACE VIEW tracker.document AS
SELECT m.id, m.fname AS document, z.file_name AS file, t.short_name AS action, d.version, c.short_name AS centre,
  p.short_name AS phase, st.short_name AS status, x.short_name AS exception, m.message, m.errors_total,
  m.kind, m.created, m.inc, m.size_bytes, m.content_sha256 AS sha256, m.ordinal, m.rows_loaded, m.position, m.checked,
  m.phase_id, m.status_id, a.id AS file_id, d.id AS download_id, d.session_id, m.first_seen, m.last_update,
  m.unzip_version, m.xsd_version, m.upload_version,
  -- Those of a centre that are checked later are checked together.
  CASE WHEN m.phase_id >= {phase data} THEN coalesce((SELECT b.checked_version FROM tracker.batch b WHERE b.centre_id = z.centre_id AND b.checked_version IS NOT NULL AND b.position > m.position
    ORDER BY b.position DESC, b.number DESC LIMIT 1), m.data_version) END AS data_version,
  q.decision AS qc, q.decided_by AS qc_by, q.reason AS qc_reason, q.decided AS qc_at
FROM tracker.zip_action a
JOIN tracker.zip_download d ON d.id = a.download_id
JOIN tracker.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted
JOIN tracker.zip_file z ON z.id = a.zip_id
JOIN tracker.processing_type t ON t.id = a.todo_id
JOIN tracker.phase p ON p.id = m.phase_id
JOIN tracker.a_status st ON st.id = m.status_id
LEFT JOIN tracker.centre c ON c.id = z.centre_id
LEFT JOIN tracker.an_exception x ON x.id = m.exception_id
LEFT JOIN tracker.quality q ON q.id = m.quality_id;
COMMENT ON COLUMN tracker.document.qc IS 'what a person decided about its bytes in quality control: accepted, questioned or held; null: nothing, or it stands elsewhere';
COMMENT ON COLUMN tracker.document.qc_by IS 'who decided';
COMMENT ON COLUMN tracker.document.qc_reason IS 'why, as they said';
COMMENT ON COLUMN tracker.document.qc_at IS 'when';
