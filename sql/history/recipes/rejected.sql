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
        SELECT file, argMax((run, attempt, taken, at), (attempt, run)) AS latest
        FROM
        (
            SELECT run, file, attempt, maxIf(accepted, phase = 'unzip' AND status = 'done') AS taken, minIf(time, phase = 'unzip' AND accepted != '') AS at
            FROM once WHERE entity = 'download' AND time < {until:DateTime64(6, 'UTC')} GROUP BY run, file, attempt HAVING taken != '' AND max(repeats) = 0
        )
        GROUP BY file
    ),
    documents AS
    (
        SELECT any(d.centre) AS centre, argMax((d.phase, d.status), (d.status = 'failed' AND d.check_number = 0, d.check_number, d.phase_id, d.status_id)) AS stands
        FROM once AS d
        WHERE d.entity = 'document' AND (d.run, d.file, d.attempt, d.outcome) IN
            (SELECT latest.1, file, latest.2, latest.3 FROM accepted WHERE latest.4 >= {since:DateTime64(6, 'UTC')})
            AND d.time < {until:DateTime64(6, 'UTC')}
            AND ({centre:String} = '' OR lower(d.centre) = lower({centre:String}))
            AND ({source:String} = '' OR d.source = {source:String})
        GROUP BY d.file, d.document
    )
SELECT row_number() OVER (ORDER BY share DESC, rejected DESC, centre) AS rank, *
FROM
(
    SELECT centre, count() AS documents, countIf(stands.2 = 'failed') AS rejected, round(rejected / documents, 4) AS share,
        countIf(stands.1 = 'xml_name' AND stands.2 = 'failed') AS xml_name, countIf(stands.1 = 'xsd' AND stands.2 = 'failed') AS xsd,
        countIf(stands.1 = 'upload' AND stands.2 = 'failed') AS upload, countIf(stands.1 = 'data' AND stands.2 = 'failed') AS data,
        countIf(stands.2 != 'failed' AND NOT (stands.1 IN ('overview', 'qc') AND stands.2 = 'done')) AS open
    FROM documents GROUP BY centre
)
ORDER BY rank
