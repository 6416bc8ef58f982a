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
            maxIf(1, stage = 'plan' AND status = 'failed') AS lost, anyIf(exception, stage = 'plan' AND status = 'failed') AS why,
            max(note = 'not_tried') AS untried, max(stage = 'download' OR status = 'pending' AND requested_at IS NOT NULL OR status IN ('cancelled', 'failed')) AS known
        FROM told WHERE entity = 'download' AND phase != '' GROUP BY run, file, attempt HAVING known AND max(note = 'replayed') = 0
    ),
    tries AS
    (
        SELECT *, lagInFrame(lost) OVER before AND lagInFrame(source) OVER before = source AND lagInFrame(look) OVER before = look AS again,
            if(lagInFrame(lost) OVER before AND lagInFrame(source) OVER before != source, toString(lagInFrame(source) OVER before), '') AS elsewhere
        FROM attempts
        WINDOW before AS (PARTITION BY run, file, untried ORDER BY attempt ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )
-- Each attempt counts where it was tried, or was to be; one that came from elsewhere counts there as well.
SELECT fact.2 AS source, countIf(fact.1 = 'tried') AS attempts, uniqExactIf(file, fact.1 = 'tried') AS files, countIf(fact.1 = 'tried' AND lost = 1) AS failed, countIf(fact.1 = 'tried' AND again) AS retries,
    countIf(fact.1 = 'went') AS failovers_from, countIf(fact.1 = 'tried' AND elsewhere != '') AS failovers_to, countIf(fact.1 = 'missed') AS not_tried,
    arrayElement(arrayMap(x -> x.2, arraySort(x -> (-x.1, x.2), arrayMap(x -> (countEqual(names, x), x), arrayDistinct(groupArrayIf(toString(why), fact.1 = 'tried' AND lost = 1) AS names)))), 1) AS exception
FROM (SELECT *, arrayJoin(multiIf(untried, [('missed', toString(source))], elsewhere != '', [('tried', toString(source)), ('went', elsewhere)], [('tried', toString(source))])) AS fact FROM tries)
WHERE began >= {since:DateTime64(6, 'UTC')} AND began < {until:DateTime64(6, 'UTC')}
    AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
    AND ({source:String} = '' OR fact.2 = {source:String})
GROUP BY fact.2
ORDER BY failed DESC, source
