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
        FROM once WHERE entity = 'download' AND run = toUUID('00000000-0000-5000-8000-000000000000') GROUP BY file, attempt HAVING received
    ),
    chosen AS
    (
        SELECT file, any(centre) AS centre, any(action) AS action, countIf(NOT repeated AND content_before != '' AND content != content_before AND NOT (failed_before AND source != source_before)) AS versions,
            sum(repeated) AS duplicates, minIf(attempt, taken = 1) AS first, maxIf(attempt, taken = 1) AS latest
        FROM
        (
            SELECT *, lagInFrame(content) OVER before AS content_before, lagInFrame(source) OVER before AS source_before, lagInFrame(failed) OVER before AS failed_before
            FROM attempts WINDOW before AS (PARTITION BY file ORDER BY attempt ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        )
        GROUP BY file
        HAVING max(at) >= {since:DateTime64(6, 'UTC')} AND max(at) < {until:DateTime64(6, 'UTC')}
            AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
            AND ({source:String} = '' OR has(groupArray(toString(source)), {source:String}))
    ),
    verdicts AS
    (
        SELECT file, document, attempt, argMax(status = 'failed', (status = 'failed' AND check_number = 0, check_number, phase_id, status_id)) AS bad
        FROM once WHERE entity = 'document' AND run = toUUID('00000000-0000-5000-8000-000000000000')
            AND (file, attempt, outcome) IN (SELECT file, attempt, outcome FROM attempts WHERE taken = 1)
        GROUP BY file, document, attempt
    ),
    compared AS
    (
        SELECT v.file AS file, v.document AS document, argMin(v.bad, v.attempt) AS before, argMax(v.bad, v.attempt) AS after, max(v.attempt) < any(c.latest) AS lacking
        FROM verdicts AS v INNER JOIN chosen AS c ON c.file = v.file GROUP BY file, document
    )
SELECT c.centre AS centre, count() AS files, countIf(c.action = 'edit') AS edits, countIf(c.action = 'delete') AS deletes, countIf(c.versions > 0) AS resubmitted,
    sum(c.versions) AS versions, sum(c.duplicates) AS duplicates, sum(d.corrected) AS corrected, sum(d.broken) AS broken, sum(d.withdrawn) AS withdrawn
FROM chosen AS c LEFT JOIN
(
    SELECT file, countIf(NOT lacking AND before AND NOT after) AS corrected, countIf(NOT lacking AND after AND NOT before) AS broken, countIf(lacking) AS withdrawn
    FROM compared GROUP BY file
) AS d ON d.file = c.file
GROUP BY centre
ORDER BY versions DESC, centre
