-- What came with an imported agent and waits for a user.

-- row held_row (agent text, number i64, kind text, body json, created_at time)

-- columns held_columns
agent, number, kind, body, created_at

-- query held_add (agent text, kind text, body json, now time)
INSERT INTO held (agent, number, kind, body, created_at)
SELECT :agent, 1 + coalesce(max(number), 0), :kind, :body, :now
  FROM held WHERE agent = :agent;

-- query held_list (agent text, number i64) -> held_row
-- number 0: all of the agent.
SELECT {held_columns} FROM held
 WHERE agent = :agent AND (:number = 0 OR number = :number) ORDER BY number;

-- query held_all -> held_row
SELECT {held_columns} FROM held ORDER BY agent, number;

-- query held_remove (agent text, number i64)
-- number 0: all of the agent.
DELETE FROM held WHERE agent = :agent AND (:number = 0 OR number = :number);
