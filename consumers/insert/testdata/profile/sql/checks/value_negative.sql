-- level: error
-- on: procedure_run
-- describes: A value is negative.
-- example: <value>-1</value>
SELECT m.position, m.record, m.ordinal, m.line, format('the value %s is negative', m.value)
  FROM candidate c JOIN warehouse.claimed_measurement m ON m.position = c.position AND m.record = c.record
  WHERE m.value LIKE '-%'
