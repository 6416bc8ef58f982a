-- recipe: sessions
-- question: How do sessions compare: how long they took, what they found, and what became of it?
-- counts: Each session with all that descends from what it found, also after its end. Files count as often as they were received; documents are those that control accepted, and rejected those of them that failed anywhere, each once. Replays belong to no session.
-- parameter since moment: when the session was opened
-- parameter until moment: when the session was opened
-- parameter centre text: only what is of this centre
-- parameter source text: only what is of this source
-- column session: the session's number
-- column opened: when it was opened
-- column seconds: until it was closed; nothing while it is open
-- column change: seconds more (or, below 0, less) than the session before took
-- column status: running, done or failed
-- column polls: polls that ended
-- column polls_failed: of these, failed
-- column listed: entries listed by them
-- column found: files new or changed
-- column gone: files no longer there
-- column files: files received
-- column bytes: received
-- column failed: attempts that failed
-- column documents: documents accepted
-- column rejected: of these, rejected
-- column inserted: documents inserted
-- column rows: rows inserted with them
-- plot: bars session seconds
-- example: tributary report sessions
-- | SESSION  OPENED                SECONDS  CHANGE  STATUS   POLLS  POLLS_FAILED  LISTED  FOUND  GONE  FILES  BYTES    FAILED  DOCUMENTS  REJECTED  INSERTED  ROWS
-- | 1        2026-11-02T10:00:00Z  1800             done     3      0             6       6      0     3      1700000  3       3          2         2         70
-- | 2        2026-11-02T12:00:00Z  2400     600     done     3      1             6       3      0     2      2400000  0       2          0         2         80
-- | 3        2026-11-02T14:00:00Z                   running  0      0             0       0      0     0      0        0       0          0         0         0
SELECT session, opened, seconds, round(seconds - lagInFrame(seconds) OVER (ORDER BY session ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), 3) AS change, status,
    polls, polls_failed, listed, found, gone, files, bytes, failed, documents, rejected, inserted, rows
FROM
(
    SELECT maxIf(e.number, e.entity = 'session') AS session, minIf(e.started_at, e.entity = 'session') AS opened,
        round(dateDiff('microsecond', opened, maxOrNullIf(e.finished_at, e.entity = 'session')) / 1e6, 3) AS seconds,
        argMaxIf(e.status, e.status_id, e.entity = 'session') AS status,
        countIf(e.entity = 'task') AS polls, countIf(e.entity = 'task' AND e.status = 'failed') AS polls_failed,
        sumIf(toInt64OrZero(e.attributes['listed']), e.entity = 'task') AS listed,
        sumIf(toInt64OrZero(e.attributes['new']) + toInt64OrZero(e.attributes['changed']), e.entity = 'task') AS found,
        sumIf(toInt64OrZero(e.attributes['gone']), e.entity = 'task') AS gone,
        countIf(e.stage = 'download' AND e.phase = 'zip_md5' AND e.status = 'done') AS files,
        sumIf(e.bytes, e.stage = 'download' AND e.phase = 'zip_md5' AND e.status = 'done') AS bytes,
        countIf(e.entity = 'download' AND e.stage = 'plan' AND e.status = 'failed') AS failed,
        sumIf(e.rows, e.entity = 'download' AND e.stage = 'plan' AND e.phase = 'unzip' AND e.status = 'done') AS documents,
        uniqExactIf(e.document, e.attempt, e.entity = 'document' AND e.status = 'failed' AND (e.run, e.file, e.attempt, cityHash64(e.outcome)) IN
            (SELECT run, file, attempt, cityHash64(accepted) FROM told WHERE entity = 'download' AND phase = 'unzip' AND status = 'done' AND accepted != '')) AS rejected,
        countIf(e.entity = 'document' AND e.phase = 'upload' AND e.status = 'done') AS inserted,
        sumIf(e.rows, e.entity = 'document' AND e.phase = 'upload' AND e.status = 'done') AS rows
    FROM once AS e
    WHERE e.session IS NOT NULL AND e.run = toUUID('00000000-0000-5000-8000-000000000000')
        AND (e.entity = 'session' OR ({centre:String} = '' OR lower(e.centre) = lower({centre:String})) AND ({source:String} = '' OR e.source = {source:String}))
    GROUP BY e.session
)
WHERE opened >= {since:DateTime64(6, 'UTC')} AND opened < {until:DateTime64(6, 'UTC')}
ORDER BY session
