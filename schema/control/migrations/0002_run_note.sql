-- A note of a user about a run: skep note.
ALTER TABLE run ADD COLUMN note TEXT;
