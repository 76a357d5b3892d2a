-- A change of the system clock: all deadlines move with it, so that the
-- remaining time stays the same.

-- query clock_move_runs (by i64)
UPDATE run INDEXED BY run_queued SET due_at = due_at + :by, expires_at = expires_at + :by
 WHERE state = 'queued' AND (due_at IS NOT NULL OR expires_at IS NOT NULL);

-- query clock_move_approvals (by i64)
UPDATE approval SET expires_at = expires_at + :by
 WHERE state = 'open' AND expires_at IS NOT NULL;

-- query clock_move_deliveries (by i64)
UPDATE delivery INDEXED BY delivery_open SET due_at = due_at + :by, expires_at = expires_at + :by,
  lease_until = lease_until + :by
 WHERE done_at IS NULL AND is_queued = 1;

-- query clock_move_channels (by i64)
UPDATE channel SET held_until = held_until + :by WHERE held_until IS NOT NULL;

-- query clock_move_leases (by i64)
UPDATE lease SET expires_at = expires_at + :by;

-- query clock_move_idle (by i64)
UPDATE idle_worker SET idle_since = idle_since + :by, expires_at = expires_at + :by;

-- query clock_move_kv (by i64)
UPDATE kv SET expires_at = expires_at + :by WHERE expires_at IS NOT NULL;
