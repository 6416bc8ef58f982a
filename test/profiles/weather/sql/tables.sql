-- Context: what there is of each station and quantity.
CREATE TABLE IF NOT EXISTS warehouse.climate (
  network text NOT NULL, station text NOT NULL, quantity text NOT NULL,
  observations bigint NOT NULL, first_day date NOT NULL, last_day date NOT NULL, lowest numeric, highest numeric,
  PRIMARY KEY (network, station, quantity));
COMMENT ON TABLE warehouse.climate IS 'what was observed at each station, kept up at each batch''s end';
COMMENT ON COLUMN warehouse.climate.network IS 'the network';
COMMENT ON COLUMN warehouse.climate.station IS 'code of the station, whether or not it is known';
COMMENT ON COLUMN warehouse.climate.quantity IS 'what was measured';
COMMENT ON COLUMN warehouse.climate.observations IS 'current observations';
COMMENT ON COLUMN warehouse.climate.first_day IS 'day of the first';
COMMENT ON COLUMN warehouse.climate.last_day IS 'day of the last';
COMMENT ON COLUMN warehouse.climate.lowest IS 'the least value; null if none has one';
COMMENT ON COLUMN warehouse.climate.highest IS 'the greatest value; null if none has one';

-- Overview: one row a network.
CREATE TABLE IF NOT EXISTS warehouse.network (
  network text PRIMARY KEY,
  stations bigint NOT NULL, observations bigint NOT NULL,
  errors bigint NOT NULL, warnings bigint NOT NULL, infos bigint NOT NULL);
COMMENT ON TABLE warehouse.network IS 'numbers of each network, kept up at each batch''s end';
COMMENT ON COLUMN warehouse.network.network IS 'the network';
COMMENT ON COLUMN warehouse.network.stations IS 'current stations';
COMMENT ON COLUMN warehouse.network.observations IS 'current observations';
COMMENT ON COLUMN warehouse.network.errors IS 'open findings that are errors';
COMMENT ON COLUMN warehouse.network.warnings IS 'open findings that are warnings';
COMMENT ON COLUMN warehouse.network.infos IS 'open findings that only inform';
