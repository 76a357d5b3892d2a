-- Counting and pruning rows of LangGraph's SqliteSaver in an agent file.

-- query langgraph_sum -> (threads i64, checkpoints i64, writes i64, bytes i64)
SELECT (SELECT count(DISTINCT thread_id) FROM checkpoints) AS threads,
       (SELECT count(*) FROM checkpoints) AS checkpoints,
       (SELECT count(*) FROM writes) AS writes,
       (SELECT coalesce(sum(length(checkpoint)), 0) FROM checkpoints) +
       (SELECT coalesce(sum(length(value)), 0) FROM writes) AS bytes;

-- row langgraph_thread_row (thread text, checkpoints i64, writes i64, bytes i64)

-- query langgraph_thread_list (after text, count i64) -> langgraph_thread_row
SELECT c.thread_id AS thread, count(*) AS checkpoints,
       (SELECT count(*) FROM writes w WHERE w.thread_id = c.thread_id) AS writes,
       coalesce(sum(length(c.checkpoint)), 0) +
       (SELECT coalesce(sum(length(w.value)), 0) FROM writes w
         WHERE w.thread_id = c.thread_id) AS bytes
  FROM checkpoints c WHERE c.thread_id > :after
 GROUP BY c.thread_id ORDER BY c.thread_id LIMIT :count;

-- query langgraph_prune_checkpoints (thread text, keep i64)
-- checkpoint_id sorts by time (UUID version 6).
DELETE FROM checkpoints WHERE thread_id = :thread AND
  (SELECT count(*) FROM checkpoints newer
    WHERE newer.thread_id = checkpoints.thread_id
      AND newer.checkpoint_ns = checkpoints.checkpoint_ns
      AND newer.checkpoint_id > checkpoints.checkpoint_id) >= :keep;

-- query langgraph_prune_writes (thread text)
DELETE FROM writes WHERE thread_id = :thread AND NOT EXISTS
  (SELECT 1 FROM checkpoints c WHERE c.thread_id = writes.thread_id
      AND c.checkpoint_ns = writes.checkpoint_ns
      AND c.checkpoint_id = writes.checkpoint_id);
