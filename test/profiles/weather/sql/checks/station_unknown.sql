-- level: error
-- on: observation
-- describes: An observation was made at a station that its network has not listed, or has deleted.
-- example: an observation at station C09, which is in no stations document of the network.
SELECT o.position, o.record, o.ordinal, o.line,
    format('station %s of network %s is not known: list it in a stations document, or correct the report', left(o.station, 100), o.network) AS message
  FROM candidate_observation o
  WHERE NOT EXISTS (
    SELECT FROM warehouse.claimed_station s WHERE s.is_current AND s.network = o.network AND s.code = o.station)
-- again
SELECT o.position, o.record
  FROM warehouse.changed x
  JOIN warehouse.claimed_station s ON s.position = x.position AND s.record = x.ordinal
  JOIN warehouse.claimed_observation o ON o.network = s.network AND o.station = s.code
  WHERE x.centre = $1 AND x.record_type = 'station' AND o.is_current
