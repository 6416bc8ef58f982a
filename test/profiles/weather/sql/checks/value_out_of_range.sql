-- level: warn
-- on: observation
-- needs: quantity
-- describes: A value lies outside of the bounds that the reference list gives for its quantity.
-- example: a temperature of 412 degrees.
SELECT o.position, o.record, o.ordinal, o.line,
    format('%s %s is not between %s and %s %s', o.quantity, o.value, q.lowest, q.highest, q.unit) AS message
  FROM candidate_observation o
  JOIN warehouse.reference_quantity q ON q.quantity = o.quantity
  WHERE o.value NOT BETWEEN q.lowest::numeric AND q.highest::numeric
