INSERT INTO warehouse.context
SELECT centre, procedure_id, parameter_id, count(*), min(date_of_experiment), max(date_of_experiment)
  FROM warehouse.current_measurement WHERE centre = $1 GROUP BY centre, procedure_id, parameter_id
