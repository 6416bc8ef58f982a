-- recipe: failures
-- question: What failed, why, how often and at which centre, week by week?
-- counts: Names of files, polls, attempts to fetch and unpack a file, and documents, each once a week under every exception that it has, however often it was judged again; a document has those of all its errors. An attempt failed if control says so, with the exception that control says. What descends from an attempt that was not accepted does not count. What failed and was corrected later still failed; a verdict that a replay takes over is none.
-- parameter since moment: of the failure
-- parameter until moment: of the failure
-- parameter centre text: the producing centre; of a poll, the centre that runs the source
-- parameter source text: the source
-- parameter phase text: the phase in which it failed
-- column week: the Monday with which the week begins
-- column centre: the producing centre; empty where the name does not tell it
-- column phase: the phase in which it failed
-- column exception: the exception's name
-- column failures: names, polls, attempts or documents that failed
-- column files: files that they belong to
-- column last: when it was last told
-- plot: bars exception failures centre
-- example: tributary report failures
-- | WEEK        CENTRE  PHASE     EXCEPTION              FAILURES  FILES  LAST
-- | 2026-11-02          zip_name  zip_name_pattern       1         1      2026-11-02T10:00:10Z
-- | 2026-11-02  H       xsd       xsd_invalid            1         1      2026-11-02T10:00:37Z
-- | 2026-11-02  Ics     data      specimen_unknown       1         1      2026-11-02T10:25:00Z
-- | 2026-11-02  Ics     data      unit_differs           1         1      2026-11-02T10:25:00Z
-- | 2026-11-02  Ics     download  connection_lost        1         1      2026-11-02T10:01:06Z
-- | 2026-11-02  Ics     download  transfer_truncated     1         1      2026-11-02T10:00:26Z
-- | 2026-11-02  Ics     unzip     corrupted_at_producer  1         1      2026-11-02T10:00:27Z
-- | 2026-11-02  Ics     zip_name  connection_failed      1         0      2026-11-02T12:00:31Z
SELECT toString(toMonday(e.time)) AS week, e.centre AS centre, e.phase AS phase,
    arrayJoin(if(e.entity = 'document' AND notEmpty(arrayFilter(x -> x != '', e.`errors.exception`)), arrayDistinct(arrayFilter(x -> x != '', e.`errors.exception`)), [toString(e.exception)])) AS exception,
    uniqExact(e.entity, ifNull(toString(e.run), ''), ifNull(toString(e.file), concat(ifNull(toString(e.session), ''), '/', e.source)), e.attempt, ifNull(toString(e.document), '')) AS failures,
    uniqExact(e.file) AS files, max(e.time) AS last
FROM told AS e
WHERE e.status = 'failed'
    AND (e.entity IN ('file', 'task') OR e.entity = 'download' AND e.stage = 'plan'
        OR e.entity = 'document' AND e.note != 'replayed' AND (e.run, e.file, e.attempt, cityHash64(e.outcome)) IN
            (SELECT run, file, attempt, cityHash64(accepted) FROM told WHERE entity = 'download' AND phase = 'unzip' AND status = 'done' AND accepted != ''))
    AND e.time >= {since:DateTime64(6, 'UTC')} AND e.time < {until:DateTime64(6, 'UTC')}
    AND ({centre:String} = '' OR lower(e.centre) = lower({centre:String}))
    AND ({source:String} = '' OR e.source = {source:String})
    AND ({phase:String} = '' OR e.phase = {phase:String})
GROUP BY week, centre, phase, exception
ORDER BY week, failures DESC, centre, phase, exception
