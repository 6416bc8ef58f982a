CREATE OR REPLACE VIEW once
{columns without passed}
AS SELECT * EXCEPT (generation, `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`, `passed.version_of`)
    REPLACE (step.1 AS phase, step.2 AS phase_id, step.3 AS started_at, step.4 AS finished_at, step.5 AS status, step.6 AS status_id, step.7 AS exception, step.8 AS version_of)
FROM
(
    SELECT * FROM event FINAL
    WHERE unreadable = '' AND (shadow = 0 OR entity = 'replay') AND NOT bitmapContains((SELECT groupBitmapState(cityHash64(topic, partition, offset)) FROM repeat), cityHash64(topic, partition, offset))
)
ARRAY JOIN arrayPushBack(
    arrayMap((p, i, s, f, v) -> (p, i, s, f, toLowCardinality('done'), toUInt8({status done}), toLowCardinality(''), v), `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`, `passed.version_of`),
    (phase, phase_id, started_at, finished_at, status, status_id, exception, version_of)) AS step
COMMENT 'every event once, with a row for each phase that it tells of. What shadow runs did is in log only'
