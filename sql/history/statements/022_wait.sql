CREATE OR REPLACE VIEW wait
(
    phase LowCardinality(String) COMMENT 'phase before whose end it waits: zip_name, download, unzip, xsd, upload or data',
    centre LowCardinality(String) COMMENT 'producing centre; empty where there is none',
    source LowCardinality(String) COMMENT 'source concerned; empty where there is none',
    began DateTime64(6, 'UTC') COMMENT 'when it came to wait',
    ended Nullable(DateTime64(6, 'UTC')) COMMENT 'when it waited no more; null while it waits'
) AS
WITH
    toDateTime64('2200-01-01 00:00:00', 6, 'UTC') AS never,
    attempts AS
    (
        SELECT run, file, attempt, any(centre) AS centre, argMax(source, toUnixTimestamp64Micro(time) + (requested_at IS NOT NULL) * 1000000000000000000) AS source, max(look) AS look,
            min(time) AS announced,
            ifNull(minOrNullIf(time, status_id >= {status done}), never) AS ended,
            minOrNullIf(time, phase = 'zip_md5' AND status = 'done') AS received,
            ifNull(minOrNullIf(time, phase = 'unzip' AND status_id >= {status done} OR note = 'duplicate' OR stage = 'plan' AND status_id >= {status cancelled}), never) AS unzipped
        FROM told WHERE entity = 'download' AND phase != '' GROUP BY run, file, attempt
    ),
    looks AS
    (
        SELECT file, source, look, max(centre) AS centre, min(listed_at) AS listed,
            least(ifNull(minOrNullIf(time, stage = 'plan'), never), ifNull(minOrNullIf(time, attributes['state'] = 'gone'), never)) AS passed
        FROM told WHERE entity = 'hosting' GROUP BY file, source, look HAVING centre != '' AND listed IS NOT NULL
    ),
    documents AS
    (
        SELECT any(centre) AS centre, any(source) AS source,
            minOrNullIf(time, phase = 'xml_name' AND status = 'done') AS named,
            minOrNullIf(time, phase = 'xsd' AND status = 'done') AS valid, ifNull(minOrNullIf(time, phase = 'xsd' AND status_id >= {status done} OR status_id >= {status cancelled}), never) AS judged,
            minOrNullIf(time, phase = 'upload' AND status = 'done') AS loaded, ifNull(minOrNullIf(time, phase = 'upload' AND status_id >= {status done} OR status_id >= {status cancelled}), never) AS tried,
            ifNull(minOrNullIf(time, phase_id >= {phase data} AND status_id >= {status done} OR status_id >= {status cancelled}), never) AS checked
        FROM told
        WHERE entity = 'document' AND (run, file, attempt, cityHash64(outcome)) IN
            (SELECT run, file, attempt, cityHash64(accepted) FROM told WHERE entity = 'download' AND phase = 'unzip' AND status = 'done' AND accepted != '')
        GROUP BY run, file, attempt, cityHash64(outcome), document
    )
SELECT phase, centre, source, began, nullIf(until, never) AS ended
FROM
(
    SELECT 'zip_name' AS phase, l.centre AS centre, l.source AS source, assumeNotNull(l.listed) AS began,
        least(l.passed, ifNull(a.announced, never), if(l.following = toDateTime64(0, 6, 'UTC'), never, l.following)) AS until
    FROM (SELECT *, leadInFrame(assumeNotNull(listed), 1, toDateTime64(0, 6, 'UTC')) OVER (PARTITION BY file, source ORDER BY look ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS following FROM looks) AS l
        LEFT JOIN (SELECT file, source, look, toNullable(min(announced)) AS announced FROM attempts GROUP BY file, source, look) AS a
        ON a.file = l.file AND a.source = l.source AND a.look = l.look
    UNION ALL SELECT w.1, centre, source, assumeNotNull(w.2), w.3 FROM attempts
        ARRAY JOIN [('download', toNullable(announced), ended), ('unzip', received, unzipped)] AS w WHERE w.2 IS NOT NULL
    UNION ALL SELECT w.1, centre, source, assumeNotNull(w.2), w.3 FROM documents
        ARRAY JOIN [('xsd', named, judged), ('upload', valid, tried), ('data', loaded, checked)] AS w WHERE w.2 IS NOT NULL
)
COMMENT 'every wait of a file or document, with its beginning and end. At zip_name: looks at files that were listed and not yet requested, refused or passed over; at download: attempts not yet ended; at unzip: archives received; at xsd: documents unpacked; at upload: documents found valid; at data: documents inserted and not yet checked'
