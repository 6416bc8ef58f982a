CREATE OR REPLACE VIEW once AS
SELECT * FROM event FINAL
WHERE unreadable = ''
ORDER BY time, topic, partition, offset
LIMIT 1 BY event_id
