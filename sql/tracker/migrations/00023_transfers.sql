-- +goose Up

-- How the bytes of an attempt came. Null in what was told before, until the tracker is
-- rebuilt.
ALTER TABLE tracker.zip_download ADD COLUMN resumed_from bigint, ADD COLUMN request_head text, ADD COLUMN response_head text;
COMMENT ON COLUMN tracker.zip_download.resumed_from IS 'where the transfer went on with what attempts before had brought, in bytes; null: it began anew';
COMMENT ON COLUMN tracker.zip_download.request_head IS 'head of the last request over HTTP, in one line, without secrets; null: there was none';
COMMENT ON COLUMN tracker.zip_download.response_head IS 'head of its answer, alike';
