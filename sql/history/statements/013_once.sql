CREATE OR REPLACE VIEW once AS
SELECT * EXCEPT (`passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`)
    REPLACE (step.1 AS phase, step.2 AS phase_id, step.3 AS started_at, step.4 AS finished_at)
FROM
(
    SELECT * FROM event FINAL
    WHERE unreadable = ''
    ORDER BY time, topic, partition, offset
    LIMIT 1 BY event_id
)
ARRAY JOIN arrayPushBack(arrayZip(`passed.phase`, `passed.phase_id`, `passed.started_at`, `passed.finished_at`), (phase, phase_id, started_at, finished_at)) AS step
