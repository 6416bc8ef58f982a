-- recipe: latency
-- question: How long does it take from when a document's file is first seen until the document is inserted?
-- counts: Every document inserted by the live run, each version of it once. It begins when a listing first showed the look at the hosting that the bytes were fetched from, so a file uploaded again begins anew. What was refused before has no end and does not count; nor do replays, which begin with what was seen long ago.
-- parameter since moment: of the insertion
-- parameter until moment: of the insertion
-- parameter centre text: the producing centre
-- parameter source text: the source fetched from
-- parameter by choice centre|source|day|all = centre: what documents are put together by
-- column of: the centre, the source, the day of insertion, or all
-- column documents: documents inserted
-- column p50: seconds that half of them took at most
-- column p95: seconds that 95 of 100 took at most
-- column p99: seconds that 99 of 100 took at most
-- column most: seconds of the one that took longest
-- plot: bars of p95
-- example: tributary report latency --by centre
-- | OF   DOCUMENTS  P50  P95  P99  MOST
-- | H    3          595  600  600  600
-- | Ics  1          886  886  886  886
WITH
    looks AS (SELECT file, source, look, min(listed_at) AS listed FROM told WHERE entity = 'hosting' AND listed_at IS NOT NULL GROUP BY file, source, look),
    fetched AS (SELECT file, attempt, any(source) AS source, any(look) AS look FROM told
        WHERE entity = 'download' AND status = 'done' AND run = toUUID('00000000-0000-5000-8000-000000000000') GROUP BY file, attempt),
    inserted AS (SELECT file, attempt, document, any(centre) AS centre, min(assumeNotNull(finished_at)) AS at FROM told
        WHERE entity = 'document' AND phase = 'upload' AND status = 'done' AND finished_at IS NOT NULL AND run = toUUID('00000000-0000-5000-8000-000000000000')
        GROUP BY file, attempt, document)
SELECT multiIf({by:String} = 'centre', toString(centre), {by:String} = 'source', toString(source), {by:String} = 'day', toString(toDate(at)), 'all') AS of,
    count() AS documents,
    round(quantileExact(0.5)(seconds), 3) AS p50, round(quantileExact(0.95)(seconds), 3) AS p95, round(quantileExact(0.99)(seconds), 3) AS p99, round(max(seconds), 3) AS most
FROM
(
    SELECT d.centre AS centre, f.source AS source, d.at AS at, dateDiff('microsecond', assumeNotNull(l.listed), d.at) / 1e6 AS seconds
    FROM inserted AS d INNER JOIN fetched AS f ON f.file = d.file AND f.attempt = d.attempt
        INNER JOIN looks AS l ON l.file = f.file AND l.source = f.source AND l.look = f.look
    WHERE d.at >= {since:DateTime64(6, 'UTC')} AND d.at < {until:DateTime64(6, 'UTC')}
        AND ({centre:String} = '' OR lower(d.centre) = lower({centre:String}))
        AND ({source:String} = '' OR f.source = {source:String})
)
GROUP BY of
ORDER BY of
