-- +goose Up

ALTER TABLE control.throttle ADD COLUMN crawl_delay bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.throttle.crawl_delay IS 'microseconds between requests that the robots.txt of the server asked for when it was read last; sessions that heed it keep to that';
