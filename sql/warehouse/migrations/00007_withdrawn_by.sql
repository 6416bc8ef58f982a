-- +goose Up

-- The rule by which documents are withdrawn stands here and nowhere else. The
-- body is parsed when the function is made, so that it goes on with its tables
-- when their schema gets another name; queries take it in as their own.
-- +goose StatementBegin
CREATE FUNCTION warehouse.withdrawn_by(file text, entry text, archive text, rank text, run_number bigint)
  RETURNS TABLE (what text, version text, at bigint) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT 'unloaded', u.archive, u.position FROM warehouse.unload u WHERE u.file = withdrawn_by.file AND u.archive = withdrawn_by.archive
  UNION ALL
  SELECT w.what, w.archive, w.position FROM warehouse.withdrawal w
  WHERE w.file = withdrawn_by.file AND w.entry = withdrawn_by.entry
    AND (w.what = 'loaded' AND (withdrawn_by.rank, withdrawn_by.run_number) < (w.rank, w.run_number)
      OR w.what = 'failed' AND withdrawn_by.rank = w.rank AND withdrawn_by.run_number < w.run_number)
    AND NOT EXISTS (SELECT FROM warehouse.unload u WHERE u.file = w.file AND u.archive = w.archive)
  UNION ALL
  SELECT w.what, w.archive, w.position FROM warehouse.withdrawal w
  WHERE w.file = withdrawn_by.file AND w.entry = '' AND w.what = 'lacks' AND withdrawn_by.rank < w.rank
    AND NOT EXISTS (SELECT FROM warehouse.document e WHERE e.file = w.file AND e.entry = withdrawn_by.entry AND e.rank = w.rank)
    AND NOT EXISTS (SELECT FROM warehouse.unload u WHERE u.file = w.file AND u.archive = w.archive);
END;
-- +goose StatementEnd
COMMENT ON FUNCTION warehouse.withdrawn_by IS 'every reason for which a document is withdrawn, given the document''s entry, version and run: the unload of its version (unloaded), or what a version that was completed withdraws (loaded, failed, lacks) and the version''s archive; with the position of either';
