-- Artifacts, cache, diagnostics, full-text search, embeddings.

-- The bytes of an artifact. They come in short transactions as `pending`; the
-- last one makes them `ready` together with the artifact's row. `dead` ones wait
-- for the sweep, so that who reads them now can finish. Ids are never used
-- twice: a slow reader must not see another content's chunks.
CREATE TABLE artifact_content (
  id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id < 8796093022208),
  state        TEXT    NOT NULL CHECK (state IN ('pending','ready','dead')),
  size         INTEGER NOT NULL DEFAULT 0,
  sha256       TEXT    NOT NULL DEFAULT '',
  touched_at   INTEGER NOT NULL            -- last chunk, or when it died
) STRICT;

-- What the sweep looks for.
CREATE INDEX artifact_content_loose ON artifact_content (touched_at)
  WHERE state <> 'ready';

-- 64 KiB each, the last one shorter; id = content << 20 | number.
CREATE TABLE artifact_chunk (
  id           INTEGER PRIMARY KEY,
  data         BLOB    NOT NULL
) STRICT;

-- Artifacts by natural key; putting the same key again replaces the bytes and
-- keeps the id.
--   class      owner        kind               name
--   tool       run          tool call          name
--   run        run          ''                 path
--   named      anything     anything           anything
--   media      session sid  seq, seq.thumb     relative path
CREATE TABLE artifact (
  id           INTEGER PRIMARY KEY,
  aid          TEXT    NOT NULL UNIQUE,    -- art_…
  class        TEXT    NOT NULL CHECK (class IN ('tool','run','named','media')),
  owner        TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  mime         TEXT,
  meta         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
  content      INTEGER NOT NULL REFERENCES artifact_content (id),
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (owner, class, kind, name)
) STRICT;

-- A content has one artifact; also what the foreign key above looks up when
-- the sweep deletes contents.
CREATE UNIQUE INDEX artifact_of_content ON artifact (content);

CREATE TRIGGER artifact_deleted AFTER DELETE ON artifact BEGIN
  UPDATE artifact_content
     SET state = 'dead', touched_at = unixepoch() * 1000
   WHERE id = old.content;
END;

CREATE TRIGGER artifact_replaced AFTER UPDATE OF content ON artifact
WHEN old.content <> new.content BEGIN
  UPDATE artifact_content
     SET state = 'dead', touched_at = unixepoch() * 1000
   WHERE id = old.content;
END;

-- Attachments go with their session; with a session that stays for its forks,
-- they stay too.
CREATE TRIGGER session_media_deleted AFTER DELETE ON session BEGIN
  DELETE FROM artifact WHERE owner = old.sid AND class = 'media';
END;

-- Values that may be lost at any time.
CREATE TABLE cache (
  id           INTEGER PRIMARY KEY,
  scope        TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  value        BLOB    NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  UNIQUE (scope, key)
) STRICT;

CREATE INDEX cache_expiry ON cache (expires_at) WHERE expires_at IS NOT NULL;

-- What somebody wanted to look at while hunting a fault. Off unless
-- meta.diagnostics says how many rows are kept.
CREATE TABLE diagnostic (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  area         TEXT    NOT NULL,           -- tts, model, mcp …
  subject      TEXT,                       -- run, session, message
  is_cut       INTEGER NOT NULL CHECK (is_cut IN (0,1)),
  body         TEXT    NOT NULL
) STRICT;

-- Full text. Appends know nothing of it: a search first brings the index up to
-- date. search_mark says up to which seq a session is in the index; what changes
-- below that is noted in search_dirty by triggers, which write nothing for
-- sessions that were never searched. rowid = event.pos.
CREATE VIRTUAL TABLE search_text USING fts5 (
  text, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE search_mark (
  session      INTEGER PRIMARY KEY,
  upto         INTEGER NOT NULL            -- seq
) STRICT;

CREATE TABLE search_dirty (
  pos          INTEGER PRIMARY KEY
) STRICT;

CREATE TRIGGER search_event_edited AFTER UPDATE OF body ON event
WHEN new.pos & 4294967295 <=
     (SELECT upto FROM search_mark WHERE session = new.pos >> 32)
BEGIN
  INSERT OR IGNORE INTO search_dirty (pos) VALUES (new.pos);
END;

CREATE TRIGGER search_event_deleted AFTER DELETE ON event
WHEN old.pos & 4294967295 <=
     (SELECT upto FROM search_mark WHERE session = old.pos >> 32)
BEGIN
  INSERT OR IGNORE INTO search_dirty (pos) VALUES (old.pos);
END;

-- Parts that are still growing are looked at by every search (part_open).
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

-- Embeddings of events: float32, little-endian. All of a model have one length.
CREATE TABLE embedding_model (
  id           INTEGER PRIMARY KEY,
  name         TEXT    NOT NULL UNIQUE,
  dim          INTEGER NOT NULL CHECK (dim BETWEEN 1 AND 16384)
) STRICT;

CREATE TABLE embedding (
  id           INTEGER PRIMARY KEY,
  pos          INTEGER NOT NULL REFERENCES event (pos) ON DELETE CASCADE,
  model        INTEGER NOT NULL REFERENCES embedding_model (id),
  norm         REAL    NOT NULL,
  vector       BLOB    NOT NULL,
  UNIQUE (pos, model)
) STRICT;
