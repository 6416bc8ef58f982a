-- recipe: throughput
-- question: How much came in, and how much of it got into the warehouse, by source and hour?
-- counts: Every transfer that brought a whole file counts, also one that brought bytes known already, and a replay's work counts as work; what it takes over is none. What the log tells twice counts once, in the period in which it happened, however late it was told.
-- parameter since moment: of the work
-- parameter until moment: of the work
-- parameter centre text: the producing centre
-- parameter source text: the source
-- parameter every duration = 1h: length of a period
-- column period: when the period begins
-- column source: the source
-- column files: files fetched
-- column bytes: bytes fetched
-- column documents: documents unpacked
-- column validated: documents judged by their schema, good or bad
-- column inserted: documents inserted into the warehouse
-- column rows: rows inserted with them
-- column failed: transfers that failed, archives and documents that were refused
-- plot: line period bytes source
-- example: tributary report throughput
-- | PERIOD                SOURCE   FILES  BYTES    DOCUMENTS  VALIDATED  INSERTED  ROWS  FAILED
-- | 2026-11-02T10:00:00Z  harwell  1      1000000  2          2          1         50    1
-- | 2026-11-02T10:00:00Z  ics      1      200000   0          0          0         0     3
-- | 2026-11-02T10:00:00Z  mirror   1      500000   1          1          1         20    1
-- | 2026-11-02T12:00:00Z  harwell  2      2400000  4          4          2         80    0
-- | 2026-11-02T13:00:00Z  mirror   0      0        0          1          1         20    0
SELECT toStartOfInterval(time, toIntervalSecond({every:UInt32})) AS period, source,
    countIf(stage = 'download' AND phase = 'zip_md5' AND status = 'done') AS files,
    sumIf(e.bytes, stage = 'download' AND phase = 'zip_md5' AND status = 'done') AS bytes,
    countIf(stage = 'unzip' AND phase = 'xml_name') AS documents,
    countIf(stage = 'validate') AS validated,
    countIf(entity = 'document' AND phase = 'upload' AND status = 'done') AS inserted,
    sumIf(e.rows, entity = 'document' AND phase = 'upload' AND status = 'done') AS rows,
    countIf(status = 'failed') AS failed
FROM once AS e
WHERE (stage IN ('download', 'unzip') AND entity = 'download' OR entity = 'document' AND note != 'replayed') AND status IN ('done', 'failed')
    AND time >= {since:DateTime64(6, 'UTC')} AND time < {until:DateTime64(6, 'UTC')}
    AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
    AND ({source:String} = '' OR source = {source:String})
GROUP BY period, source
HAVING files + documents + validated + inserted + failed > 0
ORDER BY period, source
