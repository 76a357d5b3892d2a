-- Embeddings.

-- query embedding_model_get (name text) -> (id i64, dim i64)
SELECT id, dim FROM embedding_model WHERE name = :name;

-- query embedding_model_add (name text, dim i64)
INSERT INTO embedding_model (name, dim) VALUES (:name, :dim);

-- query embedding_put (pos i64, model i64, norm f64, vector blob)
INSERT INTO embedding (pos, model, norm, vector)
VALUES (:pos, :model, :norm, :vector)
ON CONFLICT (pos, model) DO UPDATE SET norm = excluded.norm,
  vector = excluded.vector;

-- query embedding_delete (pos i64, model i64)
DELETE FROM embedding WHERE pos = :pos AND model = :model;

-- query embedding_event (pos i64, session i64) -> (sid text, key text, type i64,
--   unknown_type text, at time, body json)
SELECT s.sid, s.key, e.type,
       (SELECT o.type FROM event_extra o WHERE o.pos = e.pos) AS unknown_type, e.at,
       e.body
  FROM event e JOIN session s ON s.id = :session WHERE e.pos = :pos;

-- query embedding_models -> (model text, dim i64, vectors i64)
SELECT m.name AS model, m.dim,
       (SELECT count(*) FROM embedding e WHERE e.model = m.id) AS vectors
  FROM embedding_model m ORDER BY m.name;

-- row embedding_row (pos i64, norm f64, vector blob)

-- query embedding_all (model i64) -> embedding_row
SELECT pos, norm, vector FROM embedding WHERE model = :model;

-- query embedding_session (model i64, session i64) -> embedding_row
SELECT pos, norm, vector FROM embedding
 WHERE model = :model AND pos > :session << 32 AND pos < (:session + 1) << 32;
