-- What has nothing left has no row. $1 is the centre.
DELETE FROM warehouse.overview WHERE centre = $1 AND specimens = 0 AND runs = 0 AND findings = 0
