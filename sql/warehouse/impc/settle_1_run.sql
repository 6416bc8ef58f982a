-- From here on, context and overview count the current runs. $1 is the centre.
UPDATE warehouse.procedure_run SET counted = is_current WHERE centre = $1 AND counted <> is_current
