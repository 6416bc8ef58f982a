CREATE TABLE IF NOT EXISTS refilled_part
(
    part String COMMENT 'detached part of the table event, by the name that system.detached_parts gives it',
    topic LowCardinality(String) COMMENT 'topic that was read again, without prefix and version',
    partition Int32 COMMENT 'partition of it',
    noted_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'when that was done'
)
ENGINE = MergeTree ORDER BY (part, topic, partition)
COMMENT 'which parts ClickHouse lost whose rows were read from the log again'
