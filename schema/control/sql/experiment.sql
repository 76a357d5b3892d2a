-- Experiments, their variants and trials.

-- row experiment_row (id text, agent text, source text, snapshot text,
--   owns_snapshot bool, state text, detail text, check_command text, picked opt,
--   strategy text, keeps_forks bool, pick_keeps bool, merged opt, conflicts json,
--   submitted_by text, created_at time, ended_at time, variants i64, trials i64,
--   done i64, succeeded i64, passed i64)

-- columns experiment_columns
id, agent, source, snapshot, owns_snapshot, state, detail, check_command, picked,
  strategy, keeps_forks, pick_keeps, merged, conflicts, submitted_by, created_at, ended_at,
  (SELECT count(*) FROM variant v WHERE v.experiment = e.id) AS variants,
  (SELECT count(*) FROM trial t WHERE t.experiment = e.id) AS trials,
  (SELECT count(*) FROM trial t WHERE t.experiment = e.id
     AND t.state = 'done') AS done,
  (SELECT count(*) FROM trial t WHERE t.experiment = e.id
     AND t.outcome = 'succeeded') AS succeeded,
  (SELECT count(*) FROM trial t WHERE t.experiment = e.id
     AND t.check_exit = 0 AND t.check_outcome = 'succeeded') AS passed

-- query experiment_get (id text) -> experiment_row
SELECT {experiment_columns}
  FROM experiment e WHERE id = :id;

-- query experiment_list (before text, count i64) -> experiment_row
SELECT {experiment_columns}
  FROM experiment e WHERE id < :before ORDER BY id DESC LIMIT :count;

-- query experiment_add (id text, agent text, source text, snapshot text,
--   owns_snapshot bool, check_command text, keeps_forks bool, submitted_by text,
--   now time)
INSERT INTO experiment (id, agent, source, snapshot, owns_snapshot, state,
  check_command, keeps_forks, submitted_by, created_at)
VALUES (:id, :agent, :source, :snapshot, :owns_snapshot, 'preparing',
  :check_command, :keeps_forks, :submitted_by, :now);

-- query experiment_set_state (id text, from_state text, to_state text, detail text)
-- Compare and set.
UPDATE experiment SET state = :to_state, detail = :detail, is_working = 0
 WHERE id = :id AND state = :from_state;

-- query experiment_set_working (id text, is_working bool)
UPDATE experiment SET is_working = :is_working WHERE id = :id;

-- query experiment_pick (id text, trial i64, strategy text, ours json, theirs json,
--   keep bool)
UPDATE experiment SET state = 'picking', detail = NULL, picking = :trial,
  picking_strategy = :strategy, picking_ours = :ours, picking_theirs = :theirs,
  pick_keeps = :keep OR keeps_forks, conflicts = '[]'
 WHERE id = :id;

-- query experiment_picked (id text, merged i64, conflicts json)
-- Without the forks, it becomes `picked` when they are deleted.
UPDATE experiment SET state = iif(pick_keeps, 'picked', 'dropping'),
  picked = picking, strategy = picking_strategy, merged = :merged,
  conflicts = :conflicts, picking = NULL, detail = NULL, is_working = 0
 WHERE id = :id AND state = 'picking';

-- query experiment_not_picked (id text, detail text, conflicts json)
-- An earlier choice stays.
UPDATE experiment SET state = iif(picked IS NULL, 'done', 'picked'),
  conflicts = :conflicts, picking = NULL, detail = :detail, is_working = 0
 WHERE id = :id AND state = 'picking';

-- query experiment_end (id text, now time)
-- After the last trial.
UPDATE experiment SET state = 'done', ended_at = :now
 WHERE id = :id AND state = 'running'
   AND NOT EXISTS (SELECT 1 FROM trial WHERE experiment = :id AND state <> 'done');

-- query experiment_next -> (id text, agent text, source text, snapshot text,
--   owns_snapshot bool, state text, picked opt, picking opt, picking_strategy text,
--   picking_ours json, picking_theirs json)
-- Those with a step that no thread carries out yet.
SELECT id, agent, source, snapshot, owns_snapshot, state, picked, picking,
       picking_strategy, picking_ours, picking_theirs
  FROM experiment INDEXED BY experiment_due
 WHERE state IN ('preparing','picking','dropping') AND is_working = 0
 ORDER BY id LIMIT 100;

-- query experiment_reset
-- At the start of skepd: no thread works.
UPDATE experiment SET is_working = 0 WHERE is_working = 1;

-- row variant_row (experiment text, number i64, name text, agent text,
--   prompt text, options json)
-- query variant_add (variant_row)
INSERT INTO variant (experiment, number, name, agent, prompt, options)
VALUES (:experiment, :number, :name, :agent, :prompt, :options);

-- query variant_list (experiment text) -> variant_row
SELECT experiment, number, name, agent, prompt, options
  FROM variant WHERE experiment = :experiment ORDER BY number;

-- row trial_row (experiment text, number i64, variant i64, name text, agent text,
--   seed i64, attempt i64, state text, run text, fork text, has_fork bool,
--   outcome text, detail text, duration_ms opt, input_tokens opt,
--   output_tokens opt, cost_micros opt, check_run text, check_outcome text,
--   check_exit opt, check_ms opt, files_changed opt)

-- columns trial_columns
t.experiment, t.number, t.variant, v.name, v.agent, seed, attempt, state, run,
  fork, has_fork, outcome, detail, duration_ms, input_tokens, output_tokens,
  cost_micros, check_run, check_outcome, check_exit, check_ms, files_changed

-- query trial_list (experiment text) -> trial_row
SELECT {trial_columns}
  FROM trial t JOIN variant v ON v.experiment = t.experiment AND v.number = t.variant
 WHERE t.experiment = :experiment ORDER BY t.number;

-- query trial_get (experiment text, number i64) -> trial_row
SELECT {trial_columns}
  FROM trial t JOIN variant v ON v.experiment = t.experiment AND v.number = t.variant
 WHERE t.experiment = :experiment AND t.number = :number;

-- query trial_add (experiment text, number i64, variant i64, seed i64)
INSERT INTO trial (experiment, number, variant, seed)
VALUES (:experiment, :number, :variant, :seed);

-- query trial_last (experiment text) -> (number i64, seed i64)
SELECT coalesce(max(number), 0) AS number, coalesce(max(seed), 0) AS seed
  FROM trial WHERE experiment = :experiment;

-- query trial_next -> (experiment text, number i64, variant i64, seed i64,
--   attempt i64, state text, agent text, prompt text, options json, fork text,
--   has_fork bool, run text, source_agent text, source text, snapshot text, check_command text,
--   outcome text, submitted_by text)
-- Trials of running experiments whose next step is due.
SELECT t.experiment, t.number, t.variant, t.seed, t.attempt, t.state, v.agent,
       v.prompt, v.options, t.fork, t.has_fork, t.run, e.agent AS source_agent, e.source,
       e.snapshot, e.check_command, t.outcome, e.submitted_by
  FROM trial t INDEXED BY trial_due
  JOIN experiment e ON e.id = t.experiment AND e.state = 'running'
  JOIN variant v ON v.experiment = t.experiment AND v.number = t.variant
 WHERE t.state IN ('waiting','ran','checked') AND t.is_working = 0
 ORDER BY t.experiment, t.number LIMIT 200;

-- query trial_start (experiment text, number i64, run text, fork text)
UPDATE trial SET state = 'running', run = :run, fork = :fork, has_fork = 1
 WHERE experiment = :experiment AND number = :number;

-- query trial_check (experiment text, number i64, run text)
UPDATE trial SET state = 'checking', check_run = :run
 WHERE experiment = :experiment AND number = :number;

-- query trial_fail (experiment text, number i64, detail text)
-- It could not be started.
UPDATE trial SET state = 'done', detail = :detail,
  outcome = coalesce(outcome, 'failed')
 WHERE experiment = :experiment AND number = :number;

-- query trial_set_working (experiment text, number i64)
UPDATE trial SET is_working = 1 WHERE experiment = :experiment AND number = :number;

-- query trial_end (experiment text, number i64, files_changed opt)
UPDATE trial SET state = 'done', is_working = 0, files_changed = :files_changed
 WHERE experiment = :experiment AND number = :number;

-- query trial_reset
UPDATE trial SET is_working = 0 WHERE is_working = 1;

-- query trial_fork_gone (experiment text, number i64)
UPDATE trial SET has_fork = 0, is_working = 0
 WHERE experiment = :experiment AND number = :number;

-- query trial_again (experiment text)
-- Trials that did not succeed start again, when their forks are deleted.
UPDATE trial SET state = 'waiting', attempt = attempt + 1, run = NULL, outcome = NULL, detail = NULL, duration_ms = NULL,
  input_tokens = NULL, output_tokens = NULL, cost_micros = NULL,
  check_run = NULL, check_outcome = NULL, check_exit = NULL, check_ms = NULL,
  files_changed = NULL
 WHERE experiment = :experiment AND state = 'done' AND outcome <> 'succeeded';

-- query experiment_run_again (id text)
UPDATE experiment SET state = 'running', detail = NULL, ended_at = NULL
 WHERE id = :id AND state = 'done';
