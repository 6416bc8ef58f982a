-- recipe: latest
-- question: What happened last?
-- counts: Every event as it was told, the newest first; what was told twice is twice. What shadow runs did is left out.
-- parameter since moment: of the event
-- parameter until moment: of the event
-- parameter centre text: the producing centre
-- parameter source text: the source concerned
-- parameter phase text: the phase that it tells of
-- parameter status text: how that phase stands: pending, running, done, cancelled or failed
-- parameter exception text: the exception's name
-- parameter file text: a part of the file's name
-- parameter limit number = 100: at most so many
-- column at: when it happened, by the clock of the host that told it
-- column what: what it tells the state of, such as file, download, document, batch or session
-- column centre: the producing centre; empty where there is none
-- column source: the source concerned; empty where there is none
-- column action: of the file; empty where it is of none
-- column file: the file; empty where it is of none
-- column document: the document; empty where it is of none
-- column phase: the phase that it tells of; empty where it tells of none
-- column status: how that phase stands
-- column exception: why it failed, if it did
-- column message: what was said about it, its first 300 characters
-- column attempt: the attempt to fetch the file; 0 where it is of none
-- column by: the role that told it
-- example: tributary report latest --status failed --until 2026-11-02T10:01:00Z --limit 3
-- | AT                    WHAT      CENTRE  SOURCE   ACTION  FILE                        DOCUMENT  PHASE  STATUS  EXCEPTION              MESSAGE  ATTEMPT  BY
-- | 2026-11-02T10:00:37Z  document  H       harwell  add     H.2026-11-01.01.impc.zip    a2.xml    xsd    failed  xsd_invalid                     1        validate
-- | 2026-11-02T10:00:27Z  download  Ics     ics      edit    Ics.2026-11-01.02.impc.zip            unzip  failed  corrupted_at_producer           1        plan
-- | 2026-11-02T10:00:26Z  download  Ics     ics      edit    Ics.2026-11-01.02.impc.zip            unzip  failed  zip_crc_mismatch                1        unzip
SELECT time AS at, what, centre, source, action, file_name AS file, entry AS document, phase, status, exception, said AS message, attempt, stage AS by
FROM
(
    -- The newest are found first, and then each taken once: a row may be there several times until it is merged.
    SELECT topic, partition, offset, time, entity AS what, centre, source, action, file_name, entry, phase, status, exception, leftUTF8(message, 300) AS said, attempt, stage
    FROM event
    WHERE unreadable = '' AND (shadow = 0 OR entity = 'replay')
        AND time >= {since:DateTime64(6, 'UTC')} AND time < {until:DateTime64(6, 'UTC')}
        AND ({centre:String} = '' OR lower(centre) = lower({centre:String}))
        AND ({source:String} = '' OR source = {source:String})
        AND ({phase:String} = '' OR phase = {phase:String})
        AND ({status:String} = '' OR status = {status:String})
        AND ({exception:String} = '' OR exception = {exception:String})
        AND ({file:String} = '' OR positionCaseInsensitive(file_name, {file:String}) > 0)
    ORDER BY time DESC, topic, partition, offset DESC, generation DESC
    LIMIT 4 * {limit:UInt32}
)
ORDER BY at DESC, topic, partition, offset DESC
LIMIT 1 BY topic, partition, offset
LIMIT {limit:UInt32}
