CREATE OR REPLACE VIEW throughput_day
(
    day Date COMMENT 'day (UTC) in which it happened',
    centre LowCardinality(String) COMMENT 'producing centre; empty where there is none',
    source LowCardinality(String) COMMENT 'source concerned; empty where there is none',
    entity LowCardinality(String) COMMENT 'what it tells the state of, such as download or document',
    phase LowCardinality(String) COMMENT 'processing phase',
    status LowCardinality(String) COMMENT 'how the phase stands',
    events UInt64 COMMENT 'events; what is told twice counts once',
    files UInt64 COMMENT 'different files concerned',
    bytes Int64 COMMENT 'received, loaded or read',
    rows Int64 COMMENT 'loaded or touched'
) AS
SELECT toDate(time) AS day, centre, source, entity, phase, status, count() AS events, uniqExact(file) AS files, sum(once.bytes) AS bytes, sum(once.rows) AS rows
FROM once
WHERE phase != ''
GROUP BY day, centre, source, entity, phase, status
COMMENT 'what was done in each day, by centre, source, phase and status'
