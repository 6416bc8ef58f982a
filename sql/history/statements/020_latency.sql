CREATE OR REPLACE VIEW latency
(
    hour DateTime('UTC') COMMENT 'hour in which the event happened',
    centre LowCardinality(String) COMMENT 'producing centre; empty where there is none',
    source LowCardinality(String) COMMENT 'source concerned; empty where there is none',
    phase LowCardinality(String) COMMENT 'processing phase',
    steps UInt64 COMMENT 'how often the phase ended; what is told twice counts once',
    microseconds Int64 COMMENT 'their durations, added up',
    seconds Array(Float64) COMMENT 'median, 95th and 99th percentile of their durations, exactly',
    p50 Float64 COMMENT 'median duration in seconds',
    p95 Float64 COMMENT '95th percentile in seconds',
    p99 Float64 COMMENT '99th percentile in seconds'
) AS
SELECT hour, centre, source, phase, steps, microseconds, arrayMap(q -> q / 1e6, took) AS seconds, seconds[1] AS p50, seconds[2] AS p95, seconds[3] AS p99
FROM
(
    SELECT toStartOfHour(time) AS hour, centre, source, phase, count() AS steps,
        sum(date_diff('microsecond', assumeNotNull(coalesce(started_at, requested_at)), assumeNotNull(finished_at)) AS duration) AS microseconds,
        quantilesExact(0.5, 0.95, 0.99)(duration) AS took
    FROM once
    WHERE finished_at IS NOT NULL AND coalesce(started_at, requested_at) IS NOT NULL AND phase != ''
    GROUP BY hour, centre, source, phase
)
COMMENT 'how long each phase took, from its beginning (or request) to its end, by the hour'
