CREATE OR REPLACE VIEW failures
(
    centre LowCardinality(String) COMMENT 'producing centre; empty where there is none',
    source LowCardinality(String) COMMENT 'source concerned; empty where there is none',
    entity LowCardinality(String) COMMENT 'what failed, such as download or document',
    phase LowCardinality(String) COMMENT 'where it failed',
    exception LowCardinality(String) COMMENT 'why it failed',
    events UInt64 COMMENT 'failures; what is told twice counts once',
    files UInt64 COMMENT 'different files concerned',
    documents UInt64 COMMENT 'different documents concerned',
    first DateTime64(6, 'UTC') COMMENT 'the first of them',
    last DateTime64(6, 'UTC') COMMENT 'the last of them'
) AS
SELECT centre, source, entity, phase, exception, count() AS events, uniqExact(file) AS files, uniqExact(document) AS documents,
    min(time) AS first, max(time) AS last
FROM once
WHERE status = 'failed'
GROUP BY centre, source, entity, phase, exception
COMMENT 'what failed, and why'
