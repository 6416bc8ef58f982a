-- recipe: resubmissions
-- question: What do centres send again, and does it get better?
-- counts: Files that were received in the live run, with all that they have been. A file is sent again when other bytes are received for it than before, unless the bytes before were bad and the others come from another source. Documents are compared between the first and the latest accepted version that have them; a replay sends nothing.
-- parameter since moment: when the file was last received
-- parameter until moment: when the file was last received
-- parameter centre text: the producing centre
-- parameter source text: a source that the file was received from
-- column centre: the producing centre
-- column files: files received
-- column edits: of these, in the action edit
-- column deletes: of these, in the action delete
-- column resubmitted: files sent again with other bytes
-- column versions: other bytes sent for them, all together
-- column duplicates: transfers that brought bytes known already
-- column corrected: documents rejected at first and good in the latest version
-- column broken: documents good at first and rejected in the latest version
-- column withdrawn: documents that the latest version lacks
-- plot: bars centre versions
-- example: tributary report resubmissions
-- | CENTRE  FILES  EDITS  DELETES  RESUBMITTED  VERSIONS  DUPLICATES  CORRECTED  BROKEN  WITHDRAWN
-- | H       1      0      0        1            1         1           1          0       0
-- | Ics     2      1      0        0            0         0           0          0       0
WITH
    attempts AS
    (
        SELECT file, attempt, any(centre) AS centre, any(action) AS action, argMax(source, status IN ('done', 'cancelled', 'failed')) AS source, max(sha256) AS content,
            maxIf(time, phase = 'zip_md5' AND status = 'done') AS at, maxIf(1, phase = 'zip_md5' AND status = 'done') AS received,
            maxIf(1, repeats > 0) AS repeated, maxIf(1, stage = 'plan' AND status = 'failed') AS failed, max(accepted) AS outcome, maxIf(1, phase = 'unzip' AND status = 'done' AND accepted != '') AS taken
        FROM told
        WHERE entity = 'download' AND run = toUUID('00000000-0000-5000-8000-000000000000')
            AND ({since:DateTime64(6, 'UTC')} < toDateTime64('1971-01-01', 6, 'UTC')
                OR file IN (SELECT file FROM told WHERE entity = 'download' AND phase = 'zip_md5' AND status = 'done' AND time >= {since:DateTime64(6, 'UTC')}))
        GROUP BY file, attempt HAVING received
    ),
    chosen AS
    (
        SELECT file, any(centre) AS centre, any(action) AS action, sum(repeated) AS duplicates, minIf(attempt, taken = 1) AS first, maxIf(attempt, taken = 1) AS latest,
            groupArrayIf((attempt, cityHash64(outcome)), taken = 1) AS accepted,
            arraySort(groupArray((attempt, repeated, if(content = '', 0, cityHash64(content)), failed, cityHash64(source)))) AS transfers,
            arrayCount((before, after) -> after.2 = 0 AND before.3 != 0 AND after.3 != before.3 AND NOT (before.4 = 1 AND after.5 != before.5), arrayPopBack(transfers), arrayPopFront(transfers)) AS versions
        FROM attempts
        GROUP BY file
        HAVING max(at) >= {since:DateTime64(6, 'UTC')} AND max(at) < {until:DateTime64(6, 'UTC')}
            AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
            AND ({source:String} = '' OR has(groupArray(toString(source)), {source:String}))
    ),
    verdicts AS
    (
        SELECT file, document, attempt, max(((status = 'failed' AND check_number = 0) * 4294967296 + check_number) * 65536 + phase_id * 256 + status_id) AS rank,
            bitAnd(rank, 255) = {status failed} AS bad
        FROM told
        WHERE entity = 'document' AND run = toUUID('00000000-0000-5000-8000-000000000000')
            AND (file, attempt, cityHash64(outcome)) IN (SELECT file, version.1, version.2 FROM chosen ARRAY JOIN accepted AS version WHERE first < latest)
        GROUP BY file, document, attempt
    )
SELECT c.centre AS centre, count() AS files, countIf(c.action = 'edit') AS edits, countIf(c.action = 'delete') AS deletes, countIf(c.versions > 0) AS resubmitted,
    sum(c.versions) AS versions, sum(c.duplicates) AS duplicates,
    sum(arrayCount(x -> x.3 = c.latest AND x.1 AND NOT x.2, d.documents)) AS corrected, sum(arrayCount(x -> x.3 = c.latest AND x.2 AND NOT x.1, d.documents)) AS broken,
    sum(arrayCount(x -> x.3 < c.latest, d.documents)) AS withdrawn
FROM chosen AS c LEFT JOIN
(
    SELECT file, groupArray((before, after, last)) AS documents
    FROM (SELECT file, document, argMin(bad, attempt) AS before, argMax(bad, attempt) AS after, max(attempt) AS last FROM verdicts GROUP BY file, document)
    GROUP BY file
) AS d ON d.file = c.file
GROUP BY centre
ORDER BY versions DESC, centre
