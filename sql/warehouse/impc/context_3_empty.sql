-- What has no current measurement left is no context. $1 is the centre.
DELETE FROM warehouse.context WHERE centre = $1 AND measurements = 0
