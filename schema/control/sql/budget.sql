-- Budgets: limits of what runs may use.

-- row budget_row (name text, per text, unit text, period text, soft opt, hard i64,
--   at_hard text, agent text, session text, channel text, created_at time,
--   updated_at time)

-- columns budget_columns
name, per, unit, period, soft, hard, at_hard, agent, session, channel, created_at,
  updated_at

-- query budget_get (name text) -> budget_row
SELECT {budget_columns} FROM budget WHERE name = :name;

-- query budget_put (budget_row)
INSERT INTO budget ({budget_columns})
VALUES (:name, :per, :unit, :period, :soft, :hard, :at_hard, :agent, :session,
  :channel, :created_at, :updated_at)
ON CONFLICT (name) DO UPDATE SET per = excluded.per, unit = excluded.unit,
  period = excluded.period, soft = excluded.soft, hard = excluded.hard,
  at_hard = excluded.at_hard, agent = excluded.agent, session = excluded.session,
  channel = excluded.channel, updated_at = excluded.updated_at;

-- query budget_delete (name text)
DELETE FROM budget WHERE name = :name;

-- query budget_forget (budget text)
-- The counts of a budget that now counts something else.
DELETE FROM budget_use WHERE budget = :budget;

-- query budget_match (agent text, session text, channel text) -> budget_row
-- The budgets that apply to a run.
SELECT {budget_columns} FROM budget
 WHERE (agent IS NULL OR agent = :agent) AND (session IS NULL OR session = :session)
   AND (channel IS NULL OR channel = :channel)
   AND (per <> 'channel' OR :channel IS NOT NULL)
 ORDER BY name;

-- query budget_channel_of (run text) -> (channel text)
-- The channel whose message started the run.
SELECT channel FROM inbound WHERE run = :run LIMIT 1;

-- query budget_used (budget text, subject text, period_start i64) -> (used i64,
--   is_allowed bool)
SELECT used, is_allowed FROM budget_use
 WHERE budget = :budget AND subject = :subject AND period_start = :period_start;

-- query budget_held (budget text, subject text, run text) -> (amount i64)
-- What other runs have reserved.
SELECT coalesce(sum(amount), 0) AS amount FROM budget_hold
 WHERE budget = :budget AND subject = :subject AND run <> :run;

-- query budget_charge (budget text, subject text, period_start i64, amount i64, now time)
INSERT INTO budget_use (budget, subject, period_start, used, updated_at)
VALUES (:budget, :subject, :period_start, :amount, :now)
ON CONFLICT (budget, subject, period_start)
DO UPDATE SET used = used + excluded.used, updated_at = excluded.updated_at;

-- query budget_allow (budget text, subject text, period_start i64, now time)
INSERT INTO budget_use (budget, subject, period_start, is_allowed, updated_at)
VALUES (:budget, :subject, :period_start, 1, :now)
ON CONFLICT (budget, subject, period_start) DO UPDATE SET is_allowed = 1;

-- query budget_hold_put (run text, budget text, subject text, amount i64)
INSERT INTO budget_hold (run, budget, subject, amount)
VALUES (:run, :budget, :subject, :amount)
ON CONFLICT (run, budget) DO UPDATE SET subject = excluded.subject,
  amount = excluded.amount;

-- query budget_hold_drop (run text)
DELETE FROM budget_hold WHERE run = :run;

-- row budget_hold_row (budget text, subject text, amount i64)

-- query budget_holds (run text) -> budget_hold_row
SELECT budget, subject, amount FROM budget_hold WHERE run = :run ORDER BY budget;

-- row budget_run_row (run text, attempt i64, tokens i64, cost_micros i64, charged_at time)

-- query budget_run_get (run text) -> budget_run_row
SELECT run, attempt, tokens, cost_micros, charged_at FROM budget_run WHERE run = :run;

-- query budget_run_put (budget_run_row)
INSERT INTO budget_run (run, attempt, tokens, cost_micros, charged_at)
VALUES (:run, :attempt, :tokens, :cost_micros, :charged_at)
ON CONFLICT (run) DO UPDATE SET attempt = excluded.attempt, tokens = excluded.tokens,
  cost_micros = excluded.cost_micros, charged_at = excluded.charged_at;

-- query budget_run_delete (run text)
DELETE FROM budget_run WHERE run = :run;

-- query budget_has_time -> (n i64)
-- Whether a budget limits the time of runs.
SELECT count(*) AS n FROM budget WHERE unit = 'seconds';

-- query budget_delay_run (id text, due_at time, detail text)
-- The run stays in its place of the queue until the budget is available again.
UPDATE run SET due_at = :due_at, reason = 'budget', detail = :detail
 WHERE id = :id AND state = 'queued';

-- query budget_wake_runs
-- A budget was changed: the runs that wait for one are considered again.
UPDATE run INDEXED BY run_queued SET due_at = NULL
 WHERE state = 'queued' AND reason = 'budget' AND due_at IS NOT NULL;

-- query budget_subjects (budget text, period_start i64, count i64) -> (subject text,
--   used i64, reserved i64, is_allowed bool)
-- The counts of a budget in a period, with subjects that have only reservations;
-- those that used most first.
SELECT subject, sum(used) AS used, sum(reserved) AS reserved,
       max(is_allowed) AS is_allowed FROM
 (SELECT subject, used, 0 AS reserved, is_allowed FROM budget_use
   WHERE budget = :budget AND period_start = :period_start
  UNION ALL
  SELECT subject, 0, amount, 0 FROM budget_hold
   WHERE budget = :budget)
 GROUP BY subject ORDER BY used DESC, subject LIMIT :count;

-- query budget_list (after text, count i64) -> budget_row
SELECT {budget_columns} FROM budget WHERE name > :after ORDER BY name LIMIT :count;

-- query budget_targets (agent text, channel text) -> (missing i64)
SELECT (:agent IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM agent WHERE name = :agent)) +
       (:channel IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM channel WHERE name = :channel)) AS missing;

-- query budget_prune (before time, count i64)
-- Counts of past periods and of runs.
DELETE FROM budget_use WHERE (budget, subject, period_start) IN
 (SELECT u.budget, u.subject, u.period_start FROM budget_use u INDEXED BY budget_use_age
    JOIN budget b ON b.name = u.budget
   WHERE u.updated_at < :before AND (u.period_start > 0 OR b.per = 'run')
   LIMIT :count);

-- query clock_move_budgets (by i64)
UPDATE budget_run SET charged_at = charged_at + :by WHERE charged_at IS NOT NULL;
