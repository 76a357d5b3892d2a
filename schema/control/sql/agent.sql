-- Agents, their versions and their files.

-- row agent_row (name text, driver text, workspace text, model text,
--   prompt text, is_default bool, is_enabled bool, spec json, version i64,
--   digest text, source text, created_at time, updated_at time)

-- query agent_get (name text) -> agent_row
SELECT name, driver, workspace, model, prompt, is_default, is_enabled, spec,
       version, digest, source, created_at, updated_at
  FROM agent WHERE name = :name;

-- query agent_list (after text, count i64) -> agent_row
SELECT name, driver, workspace, model, prompt, is_default, is_enabled, spec,
       version, digest, source, created_at, updated_at
  FROM agent WHERE name > :after ORDER BY name LIMIT :count;

-- query agent_name_list (count i64) -> (name text)
SELECT name FROM agent ORDER BY name LIMIT :count;

-- query agent_get_default -> agent_row
SELECT name, driver, workspace, model, prompt, is_default, is_enabled, spec,
       version, digest, source, created_at, updated_at
  FROM agent WHERE is_default = 1;

-- query agent_put (agent_row)
INSERT INTO agent (name, driver, workspace, model, prompt, is_default,
                   is_enabled, spec, version, digest, source, created_at,
                   updated_at)
VALUES (:name, :driver, :workspace, :model, :prompt, :is_default, :is_enabled,
        :spec, :version, :digest, :source, :created_at, :updated_at)
ON CONFLICT (name) DO UPDATE SET
  driver = excluded.driver, workspace = excluded.workspace,
  model = excluded.model, prompt = excluded.prompt,
  is_default = excluded.is_default, is_enabled = excluded.is_enabled,
  spec = excluded.spec, version = excluded.version, digest = excluded.digest,
  source = excluded.source, updated_at = excluded.updated_at;

-- query agent_clear_default
UPDATE agent SET is_default = 0 WHERE is_default = 1;

-- query agent_delete (name text)
DELETE FROM agent WHERE name = :name;

-- row agent_version_row (agent text, version i64, definition json, digest text,
--   source text, created_at time)

-- query agent_version_add (agent_version_row)
INSERT INTO agent_version (agent, version, definition, digest, source, created_at)
VALUES (:agent, :version, :definition, :digest, :source, :created_at);

-- query agent_version_list (agent text) -> agent_version_row
SELECT agent, version, definition, digest, source, created_at
  FROM agent_version WHERE agent = :agent ORDER BY version DESC;

-- the current version for 0
-- query agent_version_get (agent text, version i64) -> agent_version_row
SELECT agent, version, definition, digest, source, created_at
  FROM agent_version
 WHERE agent = :agent AND version = coalesce(nullif(:version, 0),
       (SELECT max(version) FROM agent_version WHERE agent = :agent));

-- query agent_version_last (agent text) -> (version i64)
SELECT coalesce(max(version), 0) AS version FROM agent_version
 WHERE agent = :agent;

-- The table has the path of a file in this home relative to the home, so that a
-- copy of the home uses its own files. The queries read and write absolute paths.
-- The home follows from the path of this database. In a copy elsewhere, such as a
-- snapshot, relative paths stay relative.

-- columns agent_database_home
(SELECT CASE WHEN file LIKE '%/state/skep.sqlite'
             THEN substr(file, 1, length(file) - length('state/skep.sqlite'))
             ELSE '' END
   FROM pragma_database_list WHERE name = 'main')

-- row agent_database_row (agent text, path text, schema_version i64, epoch i64,
--   bytes i64, wal_bytes i64, created_at time, last_seen_at time)
-- columns agent_database_columns
agent, iif(path LIKE '/%', '', {agent_database_home}) || path AS path,
       schema_version, epoch, bytes, wal_bytes, created_at, last_seen_at

-- query agent_database_get (agent text) -> agent_database_row
SELECT {agent_database_columns}
  FROM agent_database WHERE agent = :agent;

-- query agent_database_list -> agent_database_row
SELECT {agent_database_columns}
  FROM agent_database ORDER BY agent;

-- query agent_database_put (agent_database_row)
INSERT INTO agent_database (agent, path, schema_version, epoch, bytes,
                            wal_bytes, created_at, last_seen_at)
SELECT :agent,
       iif(substr(:path, 1, length(home)) = home,
           substr(:path, length(home) + 1), :path),
       :schema_version, :epoch, :bytes, :wal_bytes, :created_at, :last_seen_at
  FROM (SELECT {agent_database_home} AS home) WHERE true
ON CONFLICT (agent) DO UPDATE SET
  path = excluded.path, schema_version = excluded.schema_version,
  epoch = excluded.epoch, bytes = excluded.bytes,
  wal_bytes = excluded.wal_bytes, last_seen_at = excluded.last_seen_at;

-- query agent_database_size (agent text, bytes i64, wal_bytes i64, now time)
UPDATE agent_database SET bytes = :bytes, wal_bytes = :wal_bytes, last_seen_at = :now
 WHERE agent = :agent;

-- query agent_database_delete (agent text)
DELETE FROM agent_database WHERE agent = :agent;

-- query agent_database_after (agent text) -> agent_database_row
SELECT {agent_database_columns}
  FROM agent_database WHERE agent > :agent ORDER BY agent LIMIT 1;
