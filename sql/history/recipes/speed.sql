-- recipe: speed
-- question: How fast was each download, against its size?
-- counts: Every transfer that brought a whole file, newest first, those of replays too. Its time is that of the transfer alone, without waiting for its turn.
-- parameter since moment: of the transfer's end
-- parameter until moment: of the transfer's end
-- parameter centre text: the producing centre
-- parameter source text: the source fetched from
-- parameter limit number = 1000: at most so many, the newest
-- column finished: when the transfer ended
-- column source: the source fetched from
-- column file: the file, with its action
-- column attempt: the attempt
-- column size: bytes of the file
-- column seconds: of the transfer
-- column bytes_per_second: size, without what attempts before had brought, by seconds; nothing if it took no time
-- plot: scatter size bytes_per_second source
-- example: tributary report speed
-- | FINISHED              SOURCE   FILE                             ATTEMPT  SIZE     SECONDS  BYTES_PER_SECOND
-- | 2026-11-02T12:25:10Z  harwell  add/H.2026-11-01.01.impc.zip     3        1200000  4        200000
-- | 2026-11-02T12:00:30Z  harwell  add/H.2026-11-01.01.impc.zip     2        1200000  8        150000
-- | 2026-11-02T10:02:11Z  mirror   add/Ics.2026-11-01.01.impc.zip   3        500000   10       50000
-- | 2026-11-02T10:00:31Z  harwell  add/H.2026-11-01.01.impc.zip     1        1000000  10       100000
-- | 2026-11-02T10:00:24Z  ics      edit/Ics.2026-11-01.02.impc.zip  1        200000   2        100000
SELECT e.finished_at AS finished, e.source AS source, concat(e.action, '/', e.file_name) AS file, e.attempt AS attempt, e.bytes AS size,
    round(dateDiff('microsecond', assumeNotNull(e.started_at), assumeNotNull(e.finished_at)) / 1e6, 3) AS seconds,
    if(seconds > 0, round(greatest(size - toInt64OrZero(e.attributes['resumed_from']), 0) / seconds), NULL) AS bytes_per_second
FROM once AS e
WHERE e.stage = 'download' AND e.phase = 'zip_md5' AND e.status = 'done' AND e.started_at IS NOT NULL AND e.finished_at IS NOT NULL
    AND e.time >= {since:DateTime64(6, 'UTC')} AND e.time < {until:DateTime64(6, 'UTC')}
    AND ({centre:String} = '' OR lower(e.centre) = lower({centre:String}))
    AND ({source:String} = '' OR e.source = {source:String})
ORDER BY finished DESC, file, attempt
LIMIT {limit:UInt32}
