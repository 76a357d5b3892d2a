-- LangGraph's tables as its SqliteSaver makes them. Never run on a file: here
-- so that the queries beside it are proven against them at build time. Only
-- what they use is named.
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
