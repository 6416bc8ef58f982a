CREATE OR REPLACE VIEW warehouse.current_station AS
  SELECT network, code, title, height, opened, position, record FROM warehouse.claimed_station WHERE is_current;
COMMENT ON VIEW warehouse.current_station IS 'the stations that are known now';

CREATE OR REPLACE VIEW warehouse.current_observation AS
  SELECT network, day, at, station, quantity, value, quality, position, record FROM warehouse.claimed_observation WHERE is_current;
COMMENT ON VIEW warehouse.current_observation IS 'the observations that hold now, one row a value';
