CREATE OR REPLACE VIEW once
{columns without passed}
AS SELECT * EXCEPT (generation, `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`)
    REPLACE (step.1 AS phase, step.2 AS phase_id, step.3 AS started_at, step.4 AS finished_at, step.5 AS status, step.6 AS status_id, step.7 AS exception)
FROM
(
    SELECT * FROM event FINAL
    WHERE unreadable = '' AND (topic, partition, offset) NOT IN (SELECT topic, partition, offset FROM repeat)
)
ARRAY JOIN arrayPushBack(
    arrayMap((p, i, s, f) -> (p, i, s, f, toLowCardinality('done'), toUInt8(3), toLowCardinality('')), `passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`),
    (phase, phase_id, started_at, finished_at, status, status_id, exception)) AS step
COMMENT 'every event once, with a row for each phase that it tells of'
