-- +goose Up

-- How far a download is while it runs. Only one that takes long tells it, so that
-- the index is small, and rows of the others are updated as before.
ALTER TABLE tracker.zip_download ADD COLUMN progress_bytes bigint, ADD COLUMN progress_rate bigint, ADD COLUMN progress_at timestamptz;
CREATE INDEX ON tracker.zip_download (progress_at) WHERE progress_at IS NOT NULL;
COMMENT ON COLUMN tracker.zip_download.progress_bytes IS 'while it runs, bytes of the transfer when it was told last how far it is; null before that, and once it has ended';
COMMENT ON COLUMN tracker.zip_download.progress_rate IS 'bytes a second until then, since it was told before or began';
COMMENT ON COLUMN tracker.zip_download.progress_at IS 'when that was told; nothing is told while no bytes come';

CREATE VIEW tracker.transfer AS
SELECT d.za_id AS file_id, d.id AS download_id, z.file_name AS file, t.short_name AS action, c.short_name AS centre, s.short_name AS source,
  d.run, d.attempt, d.size_bytes, d.progress_bytes AS received_bytes, d.progress_rate AS bytes_per_second, d.started, d.progress_at AS told
FROM tracker.zip_download d
JOIN tracker.zip_action a ON a.id = d.za_id
JOIN tracker.zip_file z ON z.id = a.zip_id
JOIN tracker.processing_type t ON t.id = a.todo_id
LEFT JOIN tracker.centre c ON c.id = z.centre_id
LEFT JOIN tracker.file_source_has_zip h ON h.id = d.zf_id
LEFT JOIN tracker.file_source s ON s.id = h.file_source_id
WHERE d.progress_at IS NOT NULL AND d.phase_id = {phase download} AND d.status_id = {status running};
COMMENT ON VIEW tracker.transfer IS 'downloads that are under way and take longer than download.progress_interval: how far each was when it was told last';
COMMENT ON COLUMN tracker.transfer.file_id IS 'the file''s id';
COMMENT ON COLUMN tracker.transfer.download_id IS 'the attempt''s id';
COMMENT ON COLUMN tracker.transfer.file IS 'its name';
COMMENT ON COLUMN tracker.transfer.action IS 'add, edit or delete';
COMMENT ON COLUMN tracker.transfer.centre IS 'that produced it; null where that is not known';
COMMENT ON COLUMN tracker.transfer.source IS 'the source that it is fetched from';
COMMENT ON COLUMN tracker.transfer.run IS 'the run: the live one, or a replay';
COMMENT ON COLUMN tracker.transfer.attempt IS 'number of the attempt';
COMMENT ON COLUMN tracker.transfer.size_bytes IS 'size as listed; null where the server does not tell';
COMMENT ON COLUMN tracker.transfer.received_bytes IS 'bytes of it when it was told last; another attempt counts anew';
COMMENT ON COLUMN tracker.transfer.bytes_per_second IS 'until then, since it was told before or began';
COMMENT ON COLUMN tracker.transfer.started IS 'when the attempt began';
COMMENT ON COLUMN tracker.transfer.told IS 'when it was told last; nothing is told while no bytes come';
