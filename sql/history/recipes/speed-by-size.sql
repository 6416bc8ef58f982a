-- recipe: speed-by-size
-- question: How does the speed of downloads depend on their size, by source?
-- counts: Every transfer that brought a whole file and took any time, those of replays too. What attempts before had brought does not count for the speed of one that went on.
-- parameter since moment: of the transfer's end
-- parameter until moment: of the transfer's end
-- parameter centre text: the producing centre
-- parameter source text: the source fetched from
-- column source: the source fetched from
-- column size_from: sizes from so many bytes
-- column size_below: to below so many bytes, four times as many
-- column downloads: transfers of such sizes
-- column bytes: of their files
-- column slowest: bytes per second of the slowest
-- column p50: bytes per second of the one in the middle
-- column p95: bytes per second that 95 of 100 stay below
-- plot: bars size_from p50 source
-- example: tributary report speed-by-size
-- | SOURCE   SIZE_FROM  SIZE_BELOW  DOWNLOADS  BYTES    SLOWEST  P50     P95
-- | harwell  262144     1048576     1          1000000  100000   100000  100000
-- | harwell  1048576    4194304     2          2400000  150000   200000  200000
-- | ics      65536      262144      1          200000   100000   100000  100000
-- | mirror   262144     1048576     1          500000   50000    50000   50000
SELECT source, toUInt64(pow(4, class)) AS size_from, toUInt64(pow(4, class + 1)) AS size_below, count() AS downloads, sum(size) AS bytes,
    round(min(speed)) AS slowest, round(quantileExact(0.5)(speed)) AS p50, round(quantileExact(0.95)(speed)) AS p95
FROM
(
    SELECT e.source AS source, e.bytes AS size, floor(log2(greatest(e.bytes, 1)) / 2) AS class,
        greatest(e.bytes - toInt64OrZero(e.attributes['resumed_from']), 0) / (dateDiff('microsecond', assumeNotNull(e.started_at), assumeNotNull(e.finished_at)) / 1e6) AS speed
    FROM once AS e
    WHERE e.stage = 'download' AND e.phase = 'zip_md5' AND e.status = 'done' AND e.finished_at > e.started_at
        AND e.time >= {since:DateTime64(6, 'UTC')} AND e.time < {until:DateTime64(6, 'UTC')}
        AND ({centre:String} = '' OR lower(e.centre) = lower({centre:String}))
        AND ({source:String} = '' OR e.source = {source:String})
)
GROUP BY source, class
ORDER BY source, size_from
