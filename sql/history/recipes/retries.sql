-- recipe: retries
-- question: Which sources fail, and how often is it tried again there or elsewhere?
-- counts: Every attempt to fetch a file that was requested or has ended, once; replays of stored bytes fetch nothing. It failed if control says so, whether at the transfer or because the archive was refused. A retry follows a failed attempt at the same look of the same source, a failover one at another source; a file uploaded again is neither. Attempts that were not begun, because their connection was lost before, cost nothing: they are counted apart.
-- parameter since moment: when the attempt was announced
-- parameter until moment: when the attempt was announced
-- parameter centre text: the producing centre
-- parameter source text: the source
-- column source: the source
-- column attempts: attempts to fetch a file from it
-- column files: files of these
-- column failed: attempts that failed
-- column retries: attempts after a failed one at the same source
-- column failovers_from: attempts elsewhere after a failed one here
-- column failovers_to: attempts here after a failed one elsewhere
-- column not_tried: attempts not begun
-- column exception: the exception that its failed attempts have most often
-- plot: bars source failed
-- example: tributary report retries
-- | SOURCE   ATTEMPTS  FILES  FAILED  RETRIES  FAILOVERS_FROM  FAILOVERS_TO  NOT_TRIED  EXCEPTION
-- | ics      4         3      3       1        1               0             1          connection_lost
-- | harwell  3         1      0       0        0               0             0
-- | mirror   1         1      0       0        0               1             0
WITH
    attempts AS
    (
        SELECT run, file, attempt, any(centre) AS centre, argMax(source, (requested_at IS NOT NULL OR status IN ('done', 'cancelled', 'failed'), time)) AS source, max(look) AS look, min(time) AS began,
            maxIf(1, stage = 'plan' AND status = 'failed') AS failed, anyIf(exception, stage = 'plan' AND status = 'failed') AS exception,
            max(note = 'not_tried') AS not_tried, max(stage = 'download' OR status = 'pending' AND requested_at IS NOT NULL OR status IN ('cancelled', 'failed')) AS known
        FROM once WHERE entity = 'download' AND phase != '' GROUP BY run, file, attempt HAVING known AND max(note = 'replayed') = 0
    ),
    tries AS
    (
        SELECT *, lagInFrame(source) OVER before AS source_before, lagInFrame(look) OVER before AS look_before, lagInFrame(failed) OVER before AS failed_before
        FROM attempts WHERE NOT not_tried
        WINDOW before AS (PARTITION BY run, file ORDER BY attempt ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ),
    facts AS
    (
        SELECT source, centre, began, file, 1 AS tried, failed, exception, failed_before AND source_before = source AND look_before = look AS retried,
            failed_before AND source_before != source AS came, 0 AS went, 0 AS missed FROM tries
        UNION ALL SELECT source_before, centre, began, NULL, 0, 0, '', 0, 0, 1, 0 FROM tries WHERE failed_before AND source_before != source
        UNION ALL SELECT source, centre, began, NULL, 0, 0, '', 0, 0, 0, 1 FROM attempts WHERE not_tried
    )
SELECT source, sum(tried) AS attempts, uniqExact(file) AS files, sum(f.failed) AS failed, sum(retried) AS retries, sum(went) AS failovers_from, sum(came) AS failovers_to, sum(missed) AS not_tried,
    arrayElement(arrayMap(x -> x.2, arraySort(x -> (-x.1, x.2), arrayMap(x -> (countEqual(names, x), x), arrayDistinct(groupArrayIf(toString(f.exception), f.failed = 1) AS names)))), 1) AS exception
FROM facts AS f
WHERE began >= {since:DateTime64(6, 'UTC')} AND began < {until:DateTime64(6, 'UTC')}
    AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
    AND ({source:String} = '' OR source = {source:String})
GROUP BY source
ORDER BY failed DESC, source
