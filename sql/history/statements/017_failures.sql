CREATE OR REPLACE VIEW failures AS
SELECT centre, source, entity, phase, exception, count() AS events, uniqExact(file) AS files, uniqExact(document) AS documents,
    min(time) AS first, max(time) AS last
FROM once
WHERE status = 'failed'
GROUP BY centre, source, entity, phase, exception
