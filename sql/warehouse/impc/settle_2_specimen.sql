-- From here on, the overview counts the current specimens. $1 is the centre.
DELETE FROM warehouse.specimen_changed WHERE centre = $1
