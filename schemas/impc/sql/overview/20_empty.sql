-- What has nothing left has no row. $1 is the centre.
DELETE FROM warehouse.overview_part WHERE centre = $1 AND specimens + experiments + lines + housings = 0
