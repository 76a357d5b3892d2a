-- JSON with SQLite's own functions, which keep every number and escape
-- unchanged; cJSON would turn numbers into doubles.

-- query json_compact (text json) -> (text json)
SELECT json(:text) AS text;

-- query json_member (text json, path text) -> (text json)
SELECT :text -> :path AS text;
