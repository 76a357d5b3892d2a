-- The tables that LangGraph's SqliteSaver creates. This is never executed on a
-- file; the queries beside it are checked against it at build time. It contains
-- only the columns that they use.
CREATE TABLE checkpoints (
  thread_id            TEXT NOT NULL,
  checkpoint_ns        TEXT NOT NULL DEFAULT '',
  checkpoint_id        TEXT NOT NULL,
  checkpoint           BLOB,
  metadata             BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);

CREATE TABLE writes (
  thread_id            TEXT NOT NULL,
  checkpoint_ns        TEXT NOT NULL DEFAULT '',
  checkpoint_id        TEXT NOT NULL,
  task_id              TEXT NOT NULL,
  idx                  INTEGER NOT NULL,
  value                BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
