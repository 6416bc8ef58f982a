-- Computed anew, which is enough for a test. $1 is the centre.
DELETE FROM warehouse.context WHERE centre = $1
