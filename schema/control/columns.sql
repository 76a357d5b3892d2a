-- Columns that came after the table they are in.

-- which of the options that the question named was chosen
ALTER TABLE approval ADD COLUMN choice TEXT;

-- the cgroup of the worker, where it is not named after the run
ALTER TABLE run ADD COLUMN cgroup TEXT;

-- the same, where it is not named after the tree
ALTER TABLE warm_worker ADD COLUMN cgroup TEXT;
