CREATE TABLE IF NOT EXISTS schema_version
(
    version UInt32 COMMENT 'number of the statement',
    name String COMMENT 'its file',
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'when it was executed'
)
ENGINE = ReplacingMergeTree ORDER BY version
COMMENT 'statements that made this database what it is'
