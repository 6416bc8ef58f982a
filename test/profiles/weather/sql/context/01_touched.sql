-- What was touched since the last batch end is counted anew: first it goes.
DELETE FROM warehouse.climate k
  USING warehouse.changed x
  JOIN warehouse.claimed_observation o ON o.position = x.position AND o.record = x.ordinal
  WHERE x.centre = $1 AND x.record_type = 'observation'
    AND k.network = o.network AND k.station = o.station AND k.quantity = o.quantity
