-- level: warn
-- on: observation
-- describes: A value was measured at a station that is not known to have a sensor for it.
-- example: rain at station C02, whose only sensor is one for temperature.
SELECT o.position, o.record, o.ordinal, o.line,
    format('station %s has no sensor for %s: add it to the stations document, or correct the report', left(o.station, 100), o.quantity) AS message
  FROM candidate_observation o
  JOIN warehouse.claimed_station s ON s.is_current AND s.network = o.network AND s.code = o.station
  WHERE NOT EXISTS (
    SELECT FROM warehouse.claimed_sensor e WHERE e.position = s.position AND e.record = s.record AND e.quantity = o.quantity)
-- again
SELECT o.position, o.record
  FROM warehouse.changed x
  JOIN warehouse.claimed_station s ON s.position = x.position AND s.record = x.ordinal
  JOIN warehouse.claimed_observation o ON o.network = s.network AND o.station = s.code
  WHERE x.centre = $1 AND x.record_type = 'station' AND o.is_current
