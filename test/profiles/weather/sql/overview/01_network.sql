INSERT INTO warehouse.network (network, stations, observations, errors, warnings, infos)
  SELECT $1,
    (SELECT count(*) FROM warehouse.claim WHERE centre = $1 AND record_type = 'station' AND is_current),
    (SELECT count(*) FROM warehouse.claim WHERE centre = $1 AND record_type = 'observation' AND is_current),
    (SELECT coalesce(sum(findings), 0) FROM warehouse.finding_count WHERE centre = $1 AND level = 'error'),
    (SELECT coalesce(sum(findings), 0) FROM warehouse.finding_count WHERE centre = $1 AND level = 'warn'),
    (SELECT coalesce(sum(findings), 0) FROM warehouse.finding_count WHERE centre = $1 AND level = 'info')
  ON CONFLICT (network) DO UPDATE SET stations = excluded.stations, observations = excluded.observations,
    errors = excluded.errors, warnings = excluded.warnings, infos = excluded.infos
