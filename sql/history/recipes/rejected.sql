-- recipe: rejected
-- question: Which centres' documents are rejected most often?
-- counts: Every document of the latest archive of each file that could be unpacked, once, as it stands at --until, by default now: rejected if its name, its schema, its loading or the latest check of its data failed. Documents of earlier versions of the file don't count, nor those of an archive that brought bytes known already, nor a replay of an earlier version.
-- parameter since moment: when the archive was accepted
-- parameter until moment: as it stood then; by default now
-- parameter centre text: the producing centre
-- parameter source text: the source fetched from
-- column rank: 1 has the greatest share
-- column centre: the producing centre
-- column documents: documents
-- column rejected: of these, rejected
-- column share: rejected by documents, from 0 to 1
-- column xml_name: rejected for their names
-- column xsd: rejected by their schema
-- column upload: rejected when they were loaded
-- column data: rejected by checks of their data
-- column open: neither rejected nor at the end yet
-- plot: bars centre share
-- example: tributary report rejected --until 2026-11-02T11:00:00Z
-- | RANK  CENTRE  DOCUMENTS  REJECTED  SHARE  XML_NAME  XSD  UPLOAD  DATA  OPEN
-- | 1     Ics     1          1         1      0         0    0       1     0
-- | 2     H       2          1         0.5    0         1    0       0     0
WITH
    accepted AS
    (
        SELECT file, argMax(run, attempt) AS latest_run, max(attempt) AS latest, argMax(cityHash64(taken), attempt) AS outcome, argMax(at, attempt) AS accepted_at
        FROM
        (
            SELECT run, file, attempt, maxIf(accepted, phase = 'unzip' AND status = 'done') AS taken, minIf(time, phase = 'unzip' AND accepted != '') AS at
            FROM told
            WHERE entity = 'download' AND time < {until:DateTime64(6, 'UTC')}
                AND ({since:DateTime64(6, 'UTC')} < toDateTime64('1971-01-01', 6, 'UTC')
                    OR file IN (SELECT file FROM told WHERE entity = 'download' AND phase = 'unzip' AND accepted != '' AND time >= {since:DateTime64(6, 'UTC')} AND time < {until:DateTime64(6, 'UTC')}))
            GROUP BY run, file, attempt HAVING taken != '' AND max(repeats) = 0
        )
        GROUP BY file
    ),
    documents AS
    (
        -- Where it stands, as a number: a verdict that ends it before its data is checked, else the latest check; then the phase, and its status.
        SELECT any(d.centre) AS centre, max(((d.status = 'failed' AND d.check_number = 0) * 4294967296 + d.check_number) * 65536 + d.phase_id * 256 + d.status_id) AS rank,
            bitAnd(bitShiftRight(rank, 8), 255) AS at_phase, bitAnd(rank, 255) AS at_status
        FROM told AS d
        WHERE d.entity = 'document' AND (d.run, d.file, d.attempt, cityHash64(d.outcome)) IN
            (SELECT latest_run, file, latest, outcome FROM accepted WHERE accepted_at >= {since:DateTime64(6, 'UTC')})
            AND d.time < {until:DateTime64(6, 'UTC')}
            AND ({centre:String} = '' OR lower(d.centre) = lower({centre:String}))
            AND ({source:String} = '' OR d.source = {source:String})
        GROUP BY d.file, d.document
    )
SELECT row_number() OVER (ORDER BY share DESC, rejected DESC, centre) AS rank, *
FROM
(
    SELECT centre, count() AS documents, countIf(at_status = {status failed}) AS rejected, round(rejected / documents, 4) AS share,
        countIf(at_phase = {phase xml_name} AND at_status = {status failed}) AS xml_name, countIf(at_phase = {phase xsd} AND at_status = {status failed}) AS xsd,
        countIf(at_phase = {phase upload} AND at_status = {status failed}) AS upload, countIf(at_phase = {phase data} AND at_status = {status failed}) AS data,
        countIf(at_status != {status failed} AND NOT (at_phase >= {phase overview} AND at_status = {status done})) AS open
    FROM documents GROUP BY centre
)
ORDER BY rank
