-- Full text of workspaces. Writing knows nothing of it: a search first brings
-- the index of its namespace up to date, from the journal. rowid = vfs_inode.id,
-- so that a file that is moved needs nothing.
CREATE VIRTUAL TABLE vfs_text USING fts5 (
  text, tokenize = 'unicode61 remove_diacritics 2'
);

-- The files that were looked at, and what they were like: also those that are
-- not in the index because they are no text.
CREATE TABLE vfs_text_file (
  id           INTEGER PRIMARY KEY,        -- vfs_inode.id
  changed      INTEGER NOT NULL,
  size         INTEGER NOT NULL
) STRICT;

-- Up to which change a namespace is in the index; without a row it has none.
CREATE TABLE vfs_text_mark (
  ns           INTEGER PRIMARY KEY,
  seq          INTEGER NOT NULL            -- vfs_journal.seq
) STRICT;

-- The number of a namespace comes again.
CREATE TRIGGER vfs_ns_text_deleted AFTER DELETE ON vfs_ns BEGIN
  DELETE FROM vfs_text
   WHERE rowid >= old.id << 40 AND rowid < (old.id + 1) << 40;
  DELETE FROM vfs_text_file
   WHERE id >= old.id << 40 AND id < (old.id + 1) << 40;
  DELETE FROM vfs_text_mark WHERE ns = old.id;
END;
