-- From here on, context and overview count the current runs. $1 is the centre.
DELETE FROM warehouse.procedure_run_changed WHERE centre = $1
