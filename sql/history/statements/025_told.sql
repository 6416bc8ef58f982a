CREATE OR REPLACE VIEW told
{columns without passed}
AS SELECT * EXCEPT (generation, `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`, `passed.version_of`)
FROM event
WHERE unreadable = '' AND (shadow = 0 OR entity = 'replay') AND NOT bitmapContains((SELECT groupBitmapState(cityHash64(topic, partition, offset)) FROM repeat), cityHash64(topic, partition, offset))
UNION ALL
SELECT * EXCEPT (generation, `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`, `passed.version_of`)
    REPLACE (step.1 AS phase, step.2 AS phase_id, step.3 AS started_at, step.4 AS finished_at, step.5 AS version_of, toLowCardinality('done') AS status, toUInt8({status done}) AS status_id, toLowCardinality('') AS exception)
FROM event
ARRAY JOIN arrayMap((p, i, s, f, v) -> (p, i, s, f, v), `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`, `passed.version_of`) AS step
PREWHERE notEmpty(`passed.phase`)
WHERE unreadable = '' AND (shadow = 0 OR entity = 'replay') AND NOT bitmapContains((SELECT groupBitmapState(cityHash64(topic, partition, offset)) FROM repeat), cityHash64(topic, partition, offset))
COMMENT 'what once has, where a record that was stored twice may be twice until ClickHouse merges it: for questions whose answer that does not change, such as the first time of something. Nothing is merged to read it'
