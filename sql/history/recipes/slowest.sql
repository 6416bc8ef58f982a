-- recipe: slowest
-- question: What took longest?
-- counts: Of files, the time from when the look that was fetched was first listed until the last of its documents was first checked or had failed, in the live run. Of anything else, each step that tells when it began and ended, those of replays too: polls, downloads (the transfer alone), unzips, documents (each phase apart; choose one with --phase), batches (from the end of loading to the end of the checks) and sessions.
-- parameter since moment: of the end
-- parameter until moment: of the end
-- parameter centre text: the centre
-- parameter source text: the source
-- parameter of choice download|file|unzip|document|poll|batch|session = download: what to compare
-- parameter phase text: of documents, the phase
-- parameter limit number = 10: how many
-- column name: the file with its action, the document, the source, or the batch's or session's number
-- column centre: the producing centre
-- column source: the source
-- column phase: the phase it was in
-- column status: how it ended
-- column seconds: how long it took
-- column bytes: received, or the document's size, or 0
-- column started: when it began
-- column finished: when it ended
-- plot: bars name seconds
-- example: tributary report slowest --of download --limit 4
-- | NAME                            CENTRE  SOURCE   PHASE    STATUS  SECONDS  BYTES    STARTED               FINISHED
-- | add/H.2026-11-01.01.impc.zip    H       harwell  zip_md5  done    10       1000000  2026-11-02T10:00:21Z  2026-11-02T10:00:31Z
-- | add/Ics.2026-11-01.01.impc.zip  Ics     mirror   zip_md5  done    10       500000   2026-11-02T10:02:01Z  2026-11-02T10:02:11Z
-- | add/H.2026-11-01.01.impc.zip    H       harwell  zip_md5  done    8        1200000  2026-11-02T12:00:22Z  2026-11-02T12:00:30Z
-- | add/H.2026-11-01.01.impc.zip    H       harwell  zip_md5  done    4        1200000  2026-11-02T12:25:06Z  2026-11-02T12:25:10Z
WITH
    looks AS (SELECT file, source, look, min(listed_at) AS listed FROM told WHERE {of:String} = 'file' AND entity = 'hosting' AND listed_at IS NOT NULL GROUP BY file, source, look),
    fetched AS
    (
        SELECT file, attempt, any(source) AS source, any(look) AS look, max(bytes) AS bytes, max(accepted) AS outcome FROM told
        WHERE {of:String} = 'file' AND entity = 'download' AND status = 'done' AND run = toUUID('00000000-0000-5000-8000-000000000000') GROUP BY file, attempt
    ),
    ended AS
    (
        SELECT file, attempt, any(outcome) AS outcome, any(concat(action, '/', file_name)) AS name, any(centre) AS centre, max(assumeNotNull(finished_at)) AS at,
            argMax((phase, status), (finished_at, phase_id)) AS stands FROM told
        WHERE {of:String} = 'file' AND entity = 'document' AND finished_at IS NOT NULL AND check_number <= 1 AND run = toUUID('00000000-0000-5000-8000-000000000000')
        GROUP BY file, attempt
    )
SELECT name, centre, source, phase, status, seconds, bytes, started, finished
FROM
(
    -- The slowest are found first, and then each taken once: a row may be there several times until it is merged.
    SELECT *, round(dateDiff('microsecond', started, finished) / 1e6, 3) AS seconds
    FROM
    (
        SELECT cityHash64(e.file, e.attempt) AS record, e.name AS name, toString(e.centre) AS centre, toString(f.source) AS source, toString(e.stands.1) AS phase, toString(e.stands.2) AS status, f.bytes AS bytes, assumeNotNull(l.listed) AS started, e.at AS finished
        FROM ended AS e INNER JOIN fetched AS f ON f.file = e.file AND f.attempt = e.attempt
            INNER JOIN looks AS l ON l.file = f.file AND l.source = f.source AND l.look = f.look
        WHERE f.outcome = e.outcome
        UNION ALL
        SELECT cityHash64(topic, partition, offset), multiIf(entity = 'download', concat(action, '/', file_name), entity = 'document', concat(action, '/', file_name, '/', entry), entity = 'task', toString(source), toString(number)),
            toString(centre), toString(source), toString(phase), toString(status), bytes, assumeNotNull(started_at), assumeNotNull(finished_at)
        FROM told
        WHERE {of:String} = multiIf(entity = 'task', 'poll', entity = 'download' AND stage = 'download', 'download', entity = 'download' AND stage = 'unzip', 'unzip',
                entity IN ('document', 'batch', 'session'), toString(entity), '')
            AND status IN ('done', 'cancelled', 'failed') AND started_at IS NOT NULL AND finished_at IS NOT NULL
    )
    WHERE finished >= {since:DateTime64(6, 'UTC')} AND finished < {until:DateTime64(6, 'UTC')}
        AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
        AND ({source:String} = '' OR source = {source:String})
        AND ({phase:String} = '' OR phase = {phase:String})
    ORDER BY seconds DESC, name, started, phase
    LIMIT 4 * {limit:UInt32}
)
ORDER BY seconds DESC, name, started, phase
LIMIT 1 BY record, phase
LIMIT {limit:UInt32}
