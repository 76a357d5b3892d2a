-- Long parts: the cost of adding to one, or of finding its neighbour, does not
-- depend on its length.

-- The table had no rowid. In such a table every search that passes a long row
-- reads all of it to compare its key. `text` is the last column, so that the
-- others are found without it.
CREATE TABLE part_by_rowid (
  pos          INTEGER NOT NULL REFERENCES event (pos) ON DELETE CASCADE,
  idx          INTEGER NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('text','reasoning','tool','file','data')),
  state        TEXT    NOT NULL CHECK (state IN
               ('streaming','input','running','awaiting','done','error','aborted')),
  name         TEXT,                       -- tool, file name, data kind
  call_id      TEXT,
  rev          INTEGER NOT NULL DEFAULT 1, -- counts changes: followers compare
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  meta         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
  input        TEXT,                       -- JSON
  output       TEXT,                       -- JSON
  text         TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (pos, idx)
) STRICT;
INSERT INTO part_by_rowid (pos, idx, kind, state, name, call_id, rev, created_at,
                           updated_at, meta, input, output, text)
SELECT pos, idx, kind, state, name, call_id, rev, created_at, updated_at, meta,
       input, output, text FROM part ORDER BY pos, idx;
DROP TABLE part;
ALTER TABLE part_by_rowid RENAME TO part;

-- As before: parts still open, and what a search has to look at again.
CREATE INDEX part_open ON part (pos)
  WHERE state IN ('streaming','input','running','awaiting');
CREATE TRIGGER search_part_added AFTER INSERT ON part
WHEN new.pos & 4294967295 <=
     (SELECT upto FROM search_mark WHERE session = new.pos >> 32)
BEGIN
  INSERT OR IGNORE INTO search_dirty (pos) VALUES (new.pos);
END;
CREATE TRIGGER search_part_edited AFTER UPDATE ON part
WHEN new.state IN ('done','error','aborted') AND new.pos & 4294967295 <=
     (SELECT upto FROM search_mark WHERE session = new.pos >> 32)
BEGIN
  INSERT OR IGNORE INTO search_dirty (pos) VALUES (new.pos);
END;
CREATE TRIGGER search_part_deleted AFTER DELETE ON part
WHEN old.pos & 4294967295 <=
     (SELECT upto FROM search_mark WHERE session = old.pos >> 32)
BEGIN
  INSERT OR IGNORE INTO search_dirty (pos) VALUES (old.pos);
END;

-- Text of an open part behind part.text. The end of the part joins them.
CREATE TABLE part_chunk (
  pos          INTEGER NOT NULL,
  idx          INTEGER NOT NULL,
  upto         INTEGER NOT NULL,           -- characters of the part up to its end
  n            INTEGER NOT NULL,           -- 1, 2, …: added to part.rev
  at           INTEGER NOT NULL,
  text         TEXT    NOT NULL,
  PRIMARY KEY (pos, idx, upto),
  FOREIGN KEY (pos, idx) REFERENCES part (pos, idx) ON DELETE CASCADE
) STRICT;

-- Parts with their whole text, also while they grow.
CREATE VIEW parts AS
SELECT p.pos, p.idx, p.kind, p.state, p.name, p.call_id,
       p.text || coalesce((SELECT group_concat(c.text, '') FROM
         (SELECT text FROM part_chunk WHERE pos = p.pos AND idx = p.idx
           ORDER BY upto) c), '') AS text,
       p.input, p.output, p.meta,
       p.rev + coalesce((SELECT n FROM part_chunk WHERE pos = p.pos
         AND idx = p.idx ORDER BY upto DESC LIMIT 1), 0) AS rev,
       p.created_at,
       max(p.updated_at, coalesce((SELECT at FROM part_chunk WHERE pos = p.pos
         AND idx = p.idx ORDER BY upto DESC LIMIT 1), 0)) AS updated_at
  FROM part p;

CREATE TRIGGER part_ended AFTER UPDATE OF state ON part
WHEN new.state IN ('done','error','aborted') AND EXISTS
     (SELECT 1 FROM part_chunk WHERE pos = new.pos AND idx = new.idx)
BEGIN
  UPDATE part SET (text, rev) = (SELECT w.text, w.rev FROM parts w
          WHERE w.pos = new.pos AND w.idx = new.idx)
   WHERE pos = new.pos AND idx = new.idx;
  DELETE FROM part_chunk WHERE pos = new.pos AND idx = new.idx;
END;
