-- recipe: changes
-- question: Which files and documents stand elsewhere than before?
-- counts: Every file and every document whose phase, status or attempt at --until differs from that at --since. A file stands where its latest attempt does by itself, without its documents; an attempt that was not begun, or that brought bytes known already, leaves it where it was. A document stands where the latest accepted attempt has it, by the latest check of its data; replays are attempts, but those of an earlier version change nothing here.
-- parameter since moment = 7d: the earlier moment; by default seven days before the later one. Files of which nothing was told in between are not read, so a long time takes longer
-- parameter until moment: the later moment; by default now
-- parameter centre text: the producing centre
-- parameter source text: the source that it comes from at the later moment
-- parameter limit number = 1000: at most so many
-- column what: file or document
-- column centre: the producing centre; empty where the name does not tell it
-- column file: the file, with its action
-- column document: the document; empty for a file
-- column before: phase and status at the earlier moment; empty if it was not known
-- column after: phase and status at the later moment
-- column attempt: the attempt that it shows then; another one is another version, or a replay
-- column exception: why it failed, if it did
-- column at: when it came to stand there
-- example: tributary report changes --since 2026-11-02T11:00:00Z
-- | WHAT      CENTRE  FILE                             DOCUMENT  BEFORE         AFTER             ATTEMPT  EXCEPTION  AT
-- | file      H       add/H.2026-11-01.01.impc.zip               unzip done     unzip done        2                   2026-11-02T12:00:34Z
-- | document  H       add/H.2026-11-01.01.impc.zip     a1.xml    overview done  overview done     2                   2026-11-02T12:20:00Z
-- | document  H       add/H.2026-11-01.01.impc.zip     a2.xml    xsd failed     overview done     2                   2026-11-02T12:20:00Z
-- | file      Ics     add/Ics.2026-11-01.01.impc.zip             unzip done     unzip done        4                   2026-11-02T13:00:01Z
-- | document  Ics     add/Ics.2026-11-01.01.impc.zip   b1.xml    data failed    overview done     4                   2026-11-02T13:06:00Z
-- | file      H       delete/H.2026-11-02.01.impc.zip                           zip_name done     0                   2026-11-02T12:00:10Z
-- | file      Ics     edit/Ics.2026-11-02.01.impc.zip                           download pending  2                   2026-11-02T12:05:00Z
WITH
    -- What stands elsewhere is of a file that something was told of in between.
    moved AS (SELECT file FROM told WHERE time >= {since:DateTime64(6, 'UTC')} AND time < {until:DateTime64(6, 'UTC')} AND file IS NOT NULL),
    downloads AS
    (
        SELECT run, file, attempt, any(centre) AS centre, argMax(source, (time, phase_id)) AS source, any(concat(action, '/', file_name)) AS name,
            argMaxIf((phase, status, exception, time), (phase_id, status_id, stage = 'plan'), time < {since:DateTime64(6, 'UTC')}) AS old,
            argMaxIf((phase, status, exception, time), (phase_id, status_id, stage = 'plan'), time < {until:DateTime64(6, 'UTC')}) AS new,
            countIf(time < {since:DateTime64(6, 'UTC')}) > 0 AND countIf((repeats > 0 OR note = 'not_tried') AND time < {since:DateTime64(6, 'UTC')}) = 0 AS was,
            countIf(time < {until:DateTime64(6, 'UTC')}) > 0 AND countIf((repeats > 0 OR note = 'not_tried') AND time < {until:DateTime64(6, 'UTC')}) = 0 AS is
        FROM told WHERE entity IN ('download', 'file') AND phase != '' AND file IN (SELECT file FROM moved) GROUP BY run, file, attempt
    ),
    files AS
    (
        SELECT 'file' AS what, any(d.centre) AS centre, any(d.name) AS file, '' AS document,
            argMaxIf(tuple(old.1, old.2, old.3, old.4, d.attempt, d.source), (d.attempt, d.run), was) AS before, argMaxIf(tuple(new.1, new.2, new.3, new.4, d.attempt, d.source), (d.attempt, d.run), is) AS after
        FROM downloads AS d GROUP BY d.file
    ),
    documents AS
    (
        SELECT 'document' AS what, any(e.centre) AS centre, any(concat(e.action, '/', e.file_name)) AS file, any(e.entry) AS document,
            argMaxIf((e.phase, e.status, e.exception, e.time, e.attempt, e.source), (e.attempt, e.run, e.check_number, e.phase_id, e.status_id), e.time < {since:DateTime64(6, 'UTC')}) AS before,
            argMaxIf((e.phase, e.status, e.exception, e.time, e.attempt, e.source), (e.attempt, e.run, e.check_number, e.phase_id, e.status_id), e.time < {until:DateTime64(6, 'UTC')}) AS after
        FROM told AS e
        WHERE e.entity = 'document' AND e.file IN (SELECT file FROM moved) AND (e.run, e.file, e.attempt, e.outcome) IN
            (SELECT run, file, attempt, maxIf(accepted, phase = 'unzip' AND status = 'done') AS taken FROM told WHERE entity = 'download' AND file IN (SELECT file FROM moved)
                GROUP BY run, file, attempt HAVING taken != '' AND max(repeats) = 0)
        GROUP BY e.file, e.document
    )
SELECT what, centre, file, document, if(c.before.1 = '', '', concat(c.before.1, ' ', c.before.2)) AS before, concat(c.after.1, ' ', c.after.2) AS after, c.after.5 AS attempt,
    if(c.after.2 IN ('failed', 'cancelled'), c.after.3, '') AS exception, c.after.4 AS at
FROM (SELECT * FROM files UNION ALL SELECT * FROM documents) AS c
WHERE c.after.1 != '' AND (c.before.1 != c.after.1 OR c.before.2 != c.after.2 OR c.before.5 != c.after.5)
    AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
    AND ({source:String} = '' OR c.after.6 = {source:String})
ORDER BY file, document, at
LIMIT {limit:UInt32}
