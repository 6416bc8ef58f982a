-- recipe: backlog
-- question: How much waited, where, and how old was the oldest of it, over time?
-- counts: Files and documents that wait at the given moments: at zip_name, looks at files that were listed and not yet requested, refused or passed over; at download, attempts announced or requested and not yet ended; at unzip, archives received; at xsd, documents unpacked; at upload, documents found valid; at data, documents inserted and not yet checked. Only documents that were accepted count: those of bytes known already wait for nothing. What waits again because it failed counts anew. The moments end now, or with --until.
-- parameter since moment: of the first moment; by default the first event
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
    toDateTime64('2200-01-01 00:00:00', 6, 'UTC') AS never,
    toInt64({every:UInt32}) * 1000000 AS step,
    ceil(toUnixTimestamp64Micro(greatest({since:DateTime64(6, 'UTC')}, (SELECT min(time) FROM log WHERE unreadable = ''))) / step) AS low,
    floor(toUnixTimestamp64Micro(least({until:DateTime64(6, 'UTC')}, now64(6, 'UTC'))) / step) + 1 AS high,
    attempts AS
    (
        SELECT run, file, attempt, any(centre) AS centre, argMax(source, (requested_at IS NOT NULL, time)) AS source, max(look) AS look,
            min(time) AS announced,
            ifNull(minOrNullIf(time, status_id >= 3), never) AS ended,
            minOrNullIf(time, phase = 'zip_md5' AND status = 'done') AS received,
            ifNull(minOrNullIf(time, phase = 'unzip' AND status_id >= 3 OR note = 'duplicate' OR stage = 'plan' AND status_id >= 4), never) AS unzipped
        FROM once WHERE entity = 'download' AND phase != '' GROUP BY run, file, attempt
    ),
    looks AS
    (
        SELECT file, source, look, max(centre) AS centre, min(listed_at) AS listed,
            least(ifNull(minOrNullIf(time, stage = 'plan'), never), ifNull(minOrNullIf(time, attributes['state'] = 'gone'), never)) AS passed
        FROM once WHERE entity = 'hosting' GROUP BY file, source, look HAVING centre != '' AND listed IS NOT NULL
    ),
    documents AS
    (
        SELECT any(centre) AS centre, any(source) AS source,
            minOrNullIf(time, phase = 'xml_name' AND status = 'done') AS named,
            minOrNullIf(time, phase = 'xsd' AND status = 'done') AS valid, ifNull(minOrNullIf(time, phase = 'xsd' AND status_id >= 3 OR status_id >= 4), never) AS judged,
            minOrNullIf(time, phase = 'upload' AND status = 'done') AS loaded, ifNull(minOrNullIf(time, phase = 'upload' AND status_id >= 3 OR status_id >= 4), never) AS tried,
            ifNull(minOrNullIf(time, phase_id >= 8 AND status_id >= 3 OR status_id >= 4), never) AS checked
        FROM once
        WHERE entity = 'document' AND (run, file, attempt, outcome) IN
            (SELECT run, file, attempt, accepted FROM once WHERE entity = 'download' AND phase = 'unzip' AND status = 'done' AND accepted != '')
        GROUP BY run, file, attempt, outcome, document
    ),
    waits AS
    (
        SELECT 'zip_name' AS phase, l.centre AS centre, l.source AS source, assumeNotNull(l.listed) AS began,
            least(l.passed, ifNull(a.announced, never), if(l.following = toDateTime64(0, 6, 'UTC'), never, l.following)) AS ended
        FROM (SELECT *, leadInFrame(assumeNotNull(listed), 1, toDateTime64(0, 6, 'UTC')) OVER (PARTITION BY file, source ORDER BY look ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS following FROM looks) AS l
            LEFT JOIN (SELECT file, source, look, toNullable(min(announced)) AS announced FROM attempts GROUP BY file, source, look) AS a
            ON a.file = l.file AND a.source = l.source AND a.look = l.look
        UNION ALL SELECT wait.1, centre, source, assumeNotNull(wait.2), wait.3 FROM attempts
            ARRAY JOIN [('download', toNullable(announced), ended), ('unzip', received, unzipped)] AS wait WHERE wait.2 IS NOT NULL
        UNION ALL SELECT wait.1, centre, source, assumeNotNull(wait.2), wait.3 FROM documents
            ARRAY JOIN [('xsd', named, judged), ('upload', valid, tried), ('data', loaded, checked)] AS wait WHERE wait.2 IS NOT NULL
    )
SELECT fromUnixTimestamp64Micro(toInt64(moment * step), 'UTC') AS time, phase, sum(n) AS waiting,
    if(waiting = 0, 0, round((moment * step - min(oldest)) / 1e6, 3)) AS oldest
FROM
(
    SELECT arrayJoin(range(since_moment, until_moment)) AS moment, phase, n, oldest
    FROM
    (
        SELECT phase, greatest(toInt64(ceil(toUnixTimestamp64Micro(began) / step)), toInt64(low)) AS since_moment,
            greatest(since_moment, least(toInt64(ceil(toUnixTimestamp64Micro(ended) / step)), toInt64(high))) AS until_moment,
            count() AS n, min(toUnixTimestamp64Micro(began)) AS oldest
        FROM waits
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
