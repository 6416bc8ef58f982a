CREATE OR REPLACE VIEW throughput_minute AS
SELECT toStartOfMinute(time) AS minute, centre, source, entity, phase, status, count() AS events, sum(bytes) AS bytes, sum(rows) AS rows
FROM once
WHERE phase != ''
GROUP BY minute, centre, source, entity, phase, status
