CREATE OR REPLACE VIEW queue_age
(
    hour DateTime('UTC') COMMENT 'hour at whose end it waited; the last hour ends with the last event',
    phase LowCardinality(String) COMMENT 'phase before whose end it waited',
    centre LowCardinality(String) COMMENT 'producing centre; empty where there is none',
    source LowCardinality(String) COMMENT 'source concerned; empty where there is none',
    waiting UInt64 COMMENT 'how many waited then',
    oldest Float64 COMMENT 'seconds for which the oldest of them had waited there'
) AS
WITH
    (SELECT (intDiv(toUnixTimestamp64Micro(min(time)), 3600000000), toUnixTimestamp64Micro(max(time))) FROM log WHERE unreadable = '') AS span,
    intDiv(span.2, 3600000000) AS final
SELECT toDateTime(h * 3600, 'UTC') AS hour, phase, centre, source, sum(n) AS waiting,
    (if(h = final, span.2, (h + 1) * 3600000000) - min(first)) / 1e6 AS oldest
FROM
(
    SELECT phase, centre, source, n, first, arrayJoin(range(since, until)) AS h
    FROM
    (
        SELECT phase, centre, source, greatest(intDiv(toUnixTimestamp64Micro(began), 3600000000), span.1) AS since,
            if(ended IS NULL, final + 1, least(intDiv(toUnixTimestamp64Micro(assumeNotNull(ended)), 3600000000), final)) AS until,
            count() AS n, min(toUnixTimestamp64Micro(began)) AS first
        FROM wait
        GROUP BY phase, centre, source, since, until
        HAVING until > since
    )
)
GROUP BY h, phase, centre, source
COMMENT 'how much waited at the end of each hour, where, and for how long the oldest of it. What came and went within an hour is not in it: see wait, and tributary report backlog for other moments'
