CREATE OR REPLACE VIEW latency AS
SELECT toStartOfHour(time) AS hour, centre, source, phase, count() AS steps,
    quantiles(0.5, 0.95, 0.99)(date_diff('microsecond', assumeNotNull(coalesce(started_at, requested_at)), assumeNotNull(finished_at)) / 1e6) AS seconds
FROM once
WHERE finished_at IS NOT NULL AND coalesce(started_at, requested_at) IS NOT NULL AND phase != ''
GROUP BY hour, centre, source, phase
