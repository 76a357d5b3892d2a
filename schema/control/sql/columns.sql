-- Columns that came after the table they are in.

-- which of the options that the question named was chosen
ALTER TABLE approval ADD COLUMN choice TEXT;

-- the cgroup of the worker, where it is not named after the run
ALTER TABLE run ADD COLUMN cgroup TEXT;

-- the same, where it is not named after the tree
ALTER TABLE warm_worker ADD COLUMN cgroup TEXT;

-- how it is: starting, ready, waiting (for its next start), ending, failed (it
-- cannot be used); NULL: no skepd uses it
ALTER TABLE channel ADD COLUMN state TEXT;

-- a plugin's process
ALTER TABLE channel ADD COLUMN pid INTEGER;

-- how often a plugin was started
ALTER TABLE channel ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;

-- its receiver wants to be left alone until then; NULL: it does not
ALTER TABLE channel ADD COLUMN held_until INTEGER;
