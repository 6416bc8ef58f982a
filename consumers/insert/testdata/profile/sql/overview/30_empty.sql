DELETE FROM warehouse.overview WHERE centre = $1 AND records = 0 AND findings = 0
