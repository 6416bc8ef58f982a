-- +goose Up

-- How fast servers are asked, by all members together. It is nobody's truth: a row that
-- is not there says that nothing was asked lately.
CREATE TABLE control.throttle (
  name text PRIMARY KEY,
  next_request timestamptz NOT NULL DEFAULT 'epoch',
  asking_until timestamptz NOT NULL DEFAULT 'epoch',
  paid_until timestamptz NOT NULL DEFAULT 'epoch',
  left_until timestamptz NOT NULL DEFAULT 'epoch') WITH (fillfactor = 50);
COMMENT ON TABLE control.throttle IS 'when servers, and single sources, may be asked again';
COMMENT ON COLUMN control.throttle.name IS 'server, or source, and its name';
COMMENT ON COLUMN control.throttle.next_request IS 'before which no further request is sent';
COMMENT ON COLUMN control.throttle.asking_until IS 'until when one request is taken to be under way, unless it is answered before';
COMMENT ON COLUMN control.throttle.paid_until IS 'up to when the bytes that came use up what may come';
COMMENT ON COLUMN control.throttle.left_until IS 'until when the server has asked to be left alone (Retry-After of a transfer): no job is given to it before';
