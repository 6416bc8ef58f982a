CREATE TABLE IF NOT EXISTS consumed_offset
(
    topic LowCardinality(String) COMMENT 'topic that was read, without prefix and version',
    partition Int32 COMMENT 'partition of it',
    next Int64 COMMENT 'the offset after the last one stored; the greatest counts',
    generation UInt64 COMMENT 'filling of the table event that it was read into'
)
ENGINE = ReplacingMergeTree(next) ORDER BY (generation, topic, partition)
COMMENT 'how far the log was stored, where history.retention deletes the rows that would tell it'
