-- recipe: backlog
-- question: How much waited, where, and how old was the oldest of it, over time?
-- counts: Files and documents that wait at the given moments: at zip_name, looks at files that were listed and not yet requested, refused or passed over; at download, attempts announced or requested and not yet ended; at unzip, archives received; at xsd, documents unpacked; at upload, documents found valid; at data, documents inserted and not yet checked. Only documents that were accepted count: those of bytes known already wait for nothing. What waits again because it failed counts anew. The moments end now, or with --until.
-- parameter since moment = 7d: of the first moment, if something had happened by then; by default seven days before the last
-- parameter until moment: of the last moment
-- parameter centre text: the producing centre
-- parameter source text: the source
-- parameter phase text: one of the phases above
-- parameter every duration = 1h: between the moments, of which there can be 2000
-- column time: the moment
-- column phase: the phase before whose end it waits
-- column waiting: how many wait
-- column oldest: seconds for which the oldest of them has waited there; 0 if none waits
-- plot: line time waiting phase
-- example: tributary report backlog --phase upload --since 2026-11-02T10:05:00Z --until 2026-11-02T10:20:00Z --every 5m
-- | TIME                  PHASE   WAITING  OLDEST
-- | 2026-11-02T10:05:00Z  upload  2        264
-- | 2026-11-02T10:10:00Z  upload  2        564
-- | 2026-11-02T10:15:00Z  upload  0        0
-- | 2026-11-02T10:20:00Z  upload  0        0
WITH
    toInt64({every:UInt32}) * 1000000 AS step,
    ceil(toUnixTimestamp64Micro(greatest({since:DateTime64(6, 'UTC')}, (SELECT min(time) FROM event WHERE unreadable = ''))) / step) AS low,
    floor(toUnixTimestamp64Micro(least({until:DateTime64(6, 'UTC')}, now64(6, 'UTC'))) / step) + 1 AS high
SELECT fromUnixTimestamp64Micro(toInt64(moment * step), 'UTC') AS time, phase, sum(n) AS waiting,
    if(waiting = 0, 0, round((moment * step - min(oldest)) / 1e6, 3)) AS oldest
FROM
(
    SELECT arrayJoin(range(since_moment, until_moment)) AS moment, phase, n, oldest
    FROM
    (
        SELECT phase, greatest(toInt64(ceil(toUnixTimestamp64Micro(began) / step)), toInt64(low)) AS since_moment,
            greatest(since_moment, ifNull(least(toInt64(ceil(toUnixTimestamp64Micro(ended) / step)), toInt64(high)), toInt64(high))) AS until_moment,
            count() AS n, min(toUnixTimestamp64Micro(began)) AS oldest
        FROM wait
        WHERE ({centre:String} = '' OR lower(centre) = lower({centre:String})) AND ({source:String} = '' OR source = {source:String})
            AND throwIf(high - low > 2000, 'more than 2000 moments: choose a longer --every, or a later --since') = 0
        GROUP BY phase, since_moment, until_moment
        HAVING until_moment > since_moment
    )
    UNION ALL
    SELECT arrayJoin(range(toInt64(low), greatest(toInt64(low), toInt64(high)))) AS moment,
        arrayJoin(['zip_name', 'download', 'unzip', 'xsd', 'upload', 'data']) AS phase, 0 AS n, toInt64(9223372036854775807) AS oldest
)
WHERE {phase:String} = '' OR phase = {phase:String}
GROUP BY moment, phase
ORDER BY time, indexOf(['zip_name', 'download', 'unzip', 'xsd', 'upload', 'data'], phase)
