CREATE OR REPLACE VIEW repeat
(
    topic LowCardinality(String) COMMENT 'topic of the record',
    partition Int32 COMMENT 'partition of the record',
    offset Int64 COMMENT 'offset of the record'
) AS
SELECT topic, partition, offset
FROM
(
    SELECT topic, partition, offset, row_number() OVER (PARTITION BY event_id ORDER BY time, topic, partition, offset) AS told
    FROM
    (
        SELECT DISTINCT event_id, time, topic, partition, offset FROM event
        WHERE unreadable = '' AND toUInt32(cityHash64(event_id)) IN
        (
            SELECT h FROM (SELECT toUInt32(cityHash64(event_id)) AS h FROM event WHERE unreadable = '' GROUP BY h HAVING count() > 1)
        )
    )
)
WHERE told > 1
COMMENT 'records that tell an event again, which another record tells already. What repeats may be is found by 32 bits of its identity first: few are, and it takes little memory'
