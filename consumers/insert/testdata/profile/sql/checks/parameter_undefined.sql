-- level: warn
-- on: procedure_run
-- needs: parameter
-- describes: A value is of a parameter that is not defined.
-- example: a value of the parameter PARR.
SELECT m.position, m.record, m.ordinal, m.line, format('the parameter %s is not defined', m.parameter_id)
  FROM candidate c JOIN warehouse.claimed_measurement m ON m.position = c.position AND m.record = c.record
  WHERE NOT EXISTS (SELECT FROM warehouse.reference_parameter p WHERE p.parameter_id = m.parameter_id)
