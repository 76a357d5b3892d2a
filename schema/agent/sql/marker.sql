-- Markers of turns: schema/agent/marker.h.

-- query run_doing (id i64, doing i64, turn i64, tool text)
UPDATE run SET doing = :doing, turn = :turn, tool = :tool WHERE id = :id;

-- query run_doing_get (id i64) -> (run i64, turn i64, tool text)
SELECT coalesce(doing, id) AS run, turn, tool FROM run WHERE id = :id;

-- query run_local_id (run text) -> (id i64)
SELECT id FROM run WHERE run_id = :run;

-- query marker_last (run i64) -> (turn i64, seq i64)
SELECT turn, seq FROM marker WHERE run = :run ORDER BY turn DESC LIMIT 1;

-- query marker_open (run i64) -> (session i64, turn i64, workspace text)
-- A run that leaves markers, and whose last turn has none.
SELECT session, turn, workspace FROM run AS r
 WHERE id = :run AND workspace IS NOT NULL AND doing = id
   AND turn > (SELECT max(turn) FROM marker WHERE run = r.id);

-- query marker_same (ns i64, snap i64) -> (snap i64)
-- The newest snapshot of the namespace, if it is that of a marker and nothing has
-- changed since.
SELECT m.snap FROM (SELECT snap, journal FROM marker WHERE snap = :snap
  ORDER BY journal DESC LIMIT 1) AS m
 WHERE NOT EXISTS (SELECT 1 FROM vfs_journal AS j
                    WHERE j.seq > m.journal AND j.ns = :ns);

-- query marker_add (run i64, turn i64, session i64, seq i64, ns i64, snap i64,
--                   journal i64, at i64)
INSERT OR REPLACE INTO marker (run, turn, session, seq, ns, snap, journal, at)
VALUES (:run, :turn, :session, :seq, :ns, :snap, :journal, :at);

-- row marker_row (turn i64, seq i64, ns text, snap text, snap_id i64, at i64)
-- query marker_of_run (run text) -> marker_row
SELECT m.turn, m.seq, n.name AS ns, s.name AS snap, m.snap AS snap_id, m.at
  FROM run AS r JOIN marker AS m ON m.run = r.id
  JOIN vfs_ns AS n ON n.id = m.ns JOIN vfs_snap AS s ON s.id = m.snap
 WHERE r.run_id = :run ORDER BY m.turn;

-- query run_place (run text) -> (id i64, status text, workspace text)
SELECT id, status, workspace FROM run WHERE run_id = :run;

-- query run_working_in (name text) -> (run text)
-- A run that works in the namespace.
SELECT run_id AS run FROM run WHERE status = 'running' AND workspace = :name
 LIMIT 1;

-- query marker_spaces (session i64) -> (ns i64, name text)
-- The namespaces in which runs of the session have worked.
SELECT DISTINCT m.ns, n.name FROM marker AS m JOIN vfs_ns AS n ON n.id = m.ns
 WHERE m.session = :session;

-- query marker_at (session i64, ns i64, seq i64) -> marker_row
-- The last marker at or before an event, or else the first one.
SELECT m.turn, m.seq, n.name AS ns, s.name AS snap, m.snap AS snap_id, m.at
  FROM marker AS m JOIN vfs_ns AS n ON n.id = m.ns
  JOIN vfs_snap AS s ON s.id = m.snap
 WHERE m.session = :session AND m.ns = :ns
 ORDER BY m.seq <= :seq DESC, CASE WHEN m.seq <= :seq THEN -m.seq ELSE m.seq END,
       CASE WHEN m.seq <= :seq THEN -m.snap ELSE m.snap END LIMIT 1;

-- query marker_newest (session i64, seq i64) -> marker_row
-- The last marker of the session at or before an event.
SELECT m.turn, m.seq, n.name AS ns, s.name AS snap, m.snap AS snap_id, m.at
  FROM marker AS m JOIN vfs_ns AS n ON n.id = m.ns
  JOIN vfs_snap AS s ON s.id = m.snap
 WHERE m.session = :session AND m.seq <= :seq
 ORDER BY m.seq DESC, m.snap DESC LIMIT 1;

-- query marker_other (ns i64, snap i64, session i64) -> (run text)
-- A run of another session that has worked in the namespace since.
SELECT r.run_id AS run FROM marker AS m JOIN run AS r ON r.id = m.run
 WHERE m.ns = :ns AND m.snap > :snap AND m.session <> :session
   AND m.turn > 0 LIMIT 1;

-- query marker_edits (ns i64, snap i64) -> (n i64, name text)
-- Files that were changed since, but not by a run, and one of them. Rewinds and
-- reverts bring no contents that are not kept elsewhere.
SELECT count(DISTINCT j.ino) AS n, CAST(min(j.name) AS TEXT) AS name
  FROM vfs_journal AS j
 WHERE j.seq > (SELECT max(journal) FROM marker WHERE snap = :snap)
   AND j.ns = :ns AND j.run IS NULL AND j.op BETWEEN 1 AND 7 
   AND j.who NOT IN ('rewind', 'revert');

-- query marker_old (keep i64, before i64) -> (ns text, snap text, snap_id i64)
-- A hidden snapshot of markers, or of a rewind, that is older than `before` or
-- not one of the newest `keep` of its namespace.
SELECT n.name AS ns, s.name AS snap, s.id AS snap_id FROM vfs_snap AS s
  JOIN vfs_ns AS n ON n.id = s.ns
 WHERE s.hidden AND (s.name GLOB '.marker-*' OR s.name GLOB '.rewind-*')
   AND n.name NOT GLOB '.*'
   AND (s.made_at < :before OR (SELECT count(*) FROM vfs_snap AS k
         WHERE k.ns = s.ns AND k.id > s.id AND k.hidden
           AND (k.name GLOB '.marker-*' OR k.name GLOB '.rewind-*')) >= :keep)
 ORDER BY s.id LIMIT 1;

-- query run_on_host (session i64) -> (run text)
-- The last run of the session, if it worked in a host directory.
SELECT run_id AS run FROM (SELECT run_id, workspace FROM run
  WHERE session = :session ORDER BY id DESC LIMIT 1) WHERE workspace IS NULL;

-- query session_set_workspace (id i64, workspace text, now time)
UPDATE session SET workspace = :workspace, rev = rev + 1, updated_at = :now
 WHERE id = :id;

-- query rewind_workspace_add (rewind i64, ns i64, snap i64, target i64)
INSERT INTO rewind_workspace (rewind, ns, snap, target)
VALUES (:rewind, :ns, :snap, :target);

-- query rewind_workspaces (rewind i64) -> (ns i64, name text, snap text, target text)
-- Names are NULL if the object was deleted.
SELECT w.ns, n.name, s.name AS snap, t.name AS target FROM rewind_workspace AS w
  LEFT JOIN vfs_ns AS n ON n.id = w.ns LEFT JOIN vfs_snap AS s ON s.id = w.snap
       AND s.name NOT GLOB '.dropped-*'
  LEFT JOIN vfs_snap AS t ON t.id = w.target AND t.name NOT GLOB '.dropped-*'
 WHERE w.rewind = :rewind;
