-- From here on, the overview counts the current specimens. $1 is the centre.
UPDATE warehouse.specimen SET counted = is_current WHERE centre = $1 AND counted <> is_current
