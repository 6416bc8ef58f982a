CREATE OR REPLACE VIEW log
{columns}
AS SELECT * EXCEPT (generation) FROM event FINAL
COMMENT 'every record of the event log, once. What was told twice, by records of their own, is twice: see once'
