CREATE TABLE IF NOT EXISTS warehouse.context (
  centre text NOT NULL, procedure_id text NOT NULL, parameter_id text NOT NULL,
  measurements bigint NOT NULL, first_date date, last_date date,
  PRIMARY KEY (centre, procedure_id, parameter_id));
COMMENT ON TABLE warehouse.context IS 'for what there are current measurements';
COMMENT ON COLUMN warehouse.context.centre IS 'the centre';
COMMENT ON COLUMN warehouse.context.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.context.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.context.measurements IS 'current values';
COMMENT ON COLUMN warehouse.context.first_date IS 'first day';
COMMENT ON COLUMN warehouse.context.last_date IS 'last day';
CREATE TABLE IF NOT EXISTS warehouse.overview (
  centre text NOT NULL, procedure_id text NOT NULL, records bigint NOT NULL, findings bigint NOT NULL,
  PRIMARY KEY (centre, procedure_id));
COMMENT ON TABLE warehouse.overview IS 'numbers of current records and of open findings';
COMMENT ON COLUMN warehouse.overview.centre IS 'the centre';
COMMENT ON COLUMN warehouse.overview.procedure_id IS 'the procedure; empty for specimens';
COMMENT ON COLUMN warehouse.overview.records IS 'current records';
COMMENT ON COLUMN warehouse.overview.findings IS 'open findings';
