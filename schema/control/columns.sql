-- Columns that came after the table they are in.

-- which of the options that the question named was chosen
ALTER TABLE approval ADD COLUMN choice TEXT;
