CREATE TABLE IF NOT EXISTS consumed_topic
(
    topic LowCardinality(String) COMMENT 'topic that was read, without prefix and version',
    topic_id UUID COMMENT 'id that the broker gave it when it was made: the first one counts',
    noted_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'when it was first read'
)
ENGINE = MergeTree ORDER BY (topic, noted_at)
COMMENT 'which topics the offsets of event belong to: one that is deleted and made anew has another id'
