-- … and then comes what there is now.
INSERT INTO warehouse.climate (network, station, quantity, observations, first_day, last_day, lowest, highest)
  SELECT o.network, o.station, o.quantity, count(*), min(o.day), max(o.day), min(o.value), max(o.value)
  FROM (SELECT DISTINCT p.network, p.station, p.quantity
      FROM warehouse.changed x
      JOIN warehouse.claimed_observation p ON p.position = x.position AND p.record = x.ordinal
      WHERE x.centre = $1 AND x.record_type = 'observation') t
  JOIN warehouse.claimed_observation o ON o.network = t.network AND o.station = t.station AND o.quantity = t.quantity
  WHERE o.is_current
  GROUP BY o.network, o.station, o.quantity
