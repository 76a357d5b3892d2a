-- query session_sid (key text) -> (sid text)
SELECT sid FROM session WHERE key = :key;
