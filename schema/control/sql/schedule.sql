-- Schedules and the log of their slots.

-- row schedule_row (name text, cron text, every_ms opt, at time, zone text,
--   jitter_ms i64, starts_at time, ends_at time, missed text, window_ms opt,
--   overlap text, action text, agent text, prompt text, session text,
--   workspace text, timeout_ms opt, flow text, input json, deliver_to text,
--   is_paused bool, held text, anchor_at time, slot time, due_at time,
--   last_slot time, fired i64, submitted_by text, created_at time,
--   changed_at time, state text)

-- columns schedule_columns
name, cron, every_ms, at, zone, jitter_ms, starts_at, ends_at, missed, window_ms,
  overlap, action, agent, prompt, session, workspace, timeout_ms, flow, input,
  deliver_to, is_paused, held, anchor_at, slot, due_at, last_slot, fired,
  submitted_by, created_at, changed_at,
  CASE WHEN held IS NOT NULL THEN 'held' WHEN is_paused THEN 'paused'
       WHEN slot IS NULL THEN 'ended' ELSE 'active' END AS state

-- query schedule_get (name text) -> schedule_row
SELECT {schedule_columns}
  FROM schedule WHERE name = :name;

-- query schedule_list (after text, count i64) -> schedule_row
SELECT {schedule_columns}
  FROM schedule WHERE name > :after ORDER BY name LIMIT :count;

-- query schedule_of_agent (agent text) -> schedule_row
SELECT {schedule_columns}
  FROM schedule WHERE agent = :agent ORDER BY name;

-- query schedule_due (now time, count i64) -> schedule_row
SELECT {schedule_columns}
  FROM schedule INDEXED BY schedule_due
 WHERE due_at IS NOT NULL AND due_at <= :now ORDER BY due_at LIMIT :count;

-- query schedule_next_due -> (due_at time)
SELECT due_at FROM schedule INDEXED BY schedule_due
 WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1;

-- query schedule_set_back (now time, count i64) -> schedule_row
-- The clock was set back since their next slot was computed.
SELECT {schedule_columns}
  FROM schedule INDEXED BY schedule_computed
 WHERE computed_at > :now ORDER BY computed_at LIMIT :count;

-- query schedule_put (name text, cron text, every_ms opt, at time, zone text,
--   jitter_ms i64, starts_at time, ends_at time, missed text, window_ms opt,
--   overlap text, action text, agent text, prompt text, session text,
--   workspace text, timeout_ms opt, flow text, input json, deliver_to text,
--   is_paused bool, held text, anchor_at time, slot time, due_at time,
--   submitted_by text, now time)
-- An existing schedule keeps its log and its counts.
INSERT INTO schedule (name, cron, every_ms, at, zone, jitter_ms, starts_at,
  ends_at, missed, window_ms, overlap, action, agent, prompt, session, workspace,
  timeout_ms, flow, input, deliver_to, is_paused, held, anchor_at, slot, due_at,
  computed_at, submitted_by, created_at, changed_at)
VALUES (:name, :cron, :every_ms, :at, :zone, :jitter_ms, :starts_at, :ends_at,
  :missed, :window_ms, :overlap, :action, :agent, :prompt, :session, :workspace,
  :timeout_ms, :flow, :input, :deliver_to, :is_paused, :held, :anchor_at, :slot,
  :due_at, :now, :submitted_by, :now, :now)
ON CONFLICT (name) DO UPDATE SET cron = excluded.cron,
  every_ms = excluded.every_ms, at = excluded.at, zone = excluded.zone,
  jitter_ms = excluded.jitter_ms, starts_at = excluded.starts_at,
  ends_at = excluded.ends_at, missed = excluded.missed,
  window_ms = excluded.window_ms, overlap = excluded.overlap,
  action = excluded.action, agent = excluded.agent, prompt = excluded.prompt,
  session = excluded.session, workspace = excluded.workspace,
  timeout_ms = excluded.timeout_ms, flow = excluded.flow, input = excluded.input,
  deliver_to = excluded.deliver_to, is_paused = excluded.is_paused,
  held = excluded.held, anchor_at = excluded.anchor_at, slot = excluded.slot,
  due_at = excluded.due_at, computed_at = excluded.computed_at,
  submitted_by = excluded.submitted_by, changed_at = excluded.changed_at;

-- query schedule_advance (name text, slot time, due_at time, last_slot time,
--   fired i64, now time)
-- After a slot: the next one.
UPDATE schedule SET slot = :slot, due_at = :due_at, computed_at = :now,
  last_slot = coalesce(:last_slot, last_slot), fired = fired + :fired
 WHERE name = :name;

-- query schedule_switch (name text, is_paused bool, held text, slot time,
--   due_at time, now time)
UPDATE schedule SET is_paused = :is_paused, held = :held, slot = :slot,
  due_at = :due_at, computed_at = :now, changed_at = :now
 WHERE name = :name;

-- query schedule_delete (name text)
DELETE FROM schedule WHERE name = :name;

-- query schedule_count -> (n i64)
SELECT count(*) AS n FROM schedule;

-- row firing_row (schedule text, slot time, outcome text, reason text, slots i64,
--   target text, state text, at time)
-- query firing_list (schedule text, before time, count i64) -> firing_row
SELECT schedule, slot, outcome, reason, slots, target, state, at
  FROM firing WHERE schedule = :schedule AND slot < :before
 ORDER BY slot DESC LIMIT :count;

-- query firing_add (schedule text, slot time, outcome text, reason text,
--   slots i64, target text, is_open bool, at time)
INSERT INTO firing (schedule, slot, outcome, reason, slots, target, is_open, at)
VALUES (:schedule, :slot, :outcome, :reason, :slots, :target, :is_open, :at);

-- query firing_exists (schedule text, slot time) -> (slot time)
SELECT slot FROM firing WHERE schedule = :schedule AND slot = :slot;

-- query firing_open (schedule text, count i64) -> (slot time, target text)
-- What the schedule started and has not ended.
SELECT slot, target FROM firing INDEXED BY firing_open
 WHERE schedule = :schedule AND is_open = 1 ORDER BY slot LIMIT :count;

-- query firing_waiting (schedule text) -> (n i64)
SELECT count(*) AS n FROM firing INDEXED BY firing_waiting
 WHERE schedule = :schedule AND outcome = 'waiting';

-- query firing_ready (count i64) -> (schedule text, slot time)
-- The oldest waiting slot of each schedule that started nothing that is still
-- active.
SELECT schedule, min(slot) AS slot FROM firing f INDEXED BY firing_waiting
 WHERE outcome = 'waiting'
   AND NOT EXISTS (SELECT 1 FROM firing o INDEXED BY firing_open
                    WHERE o.schedule = f.schedule AND o.is_open = 1)
   AND EXISTS (SELECT 1 FROM schedule s WHERE s.name = f.schedule
                AND s.is_paused = 0 AND s.held IS NULL)
 GROUP BY schedule LIMIT :count;

-- query firing_any_waiting -> (slot time)
SELECT slot FROM firing INDEXED BY firing_waiting WHERE outcome = 'waiting' LIMIT 1;

-- query firing_start (schedule text, slot time, outcome text, reason text,
--   target text, is_open bool)
-- A waiting slot.
UPDATE firing SET outcome = :outcome, reason = :reason, target = :target,
  is_open = :is_open
 WHERE schedule = :schedule AND slot = :slot;

-- query firing_trim (schedule text, keep i64)
-- The log of a schedule is limited.
DELETE FROM firing WHERE schedule = :schedule AND is_open = 0
   AND outcome <> 'waiting' AND slot <
   (SELECT slot FROM firing WHERE schedule = :schedule
     ORDER BY slot DESC LIMIT 1 OFFSET :keep);

-- query firing_prune (run_prune)
DELETE FROM firing WHERE (schedule, slot) IN
 (SELECT schedule, slot FROM firing INDEXED BY firing_at
   WHERE at < :before AND is_open = 0 AND outcome <> 'waiting'
   ORDER BY at LIMIT :rows);

-- query schedule_problems -> (name text, held text, reason text)
-- Held schedules, and those whose newest slot failed.
SELECT s.name, s.held, f.reason FROM schedule s
  LEFT JOIN firing f ON f.schedule = s.name AND f.outcome = 'failed'
   AND f.slot = (SELECT max(slot) FROM firing WHERE schedule = s.name)
 WHERE s.held IS NOT NULL OR f.slot IS NOT NULL ORDER BY s.name LIMIT 1000;
