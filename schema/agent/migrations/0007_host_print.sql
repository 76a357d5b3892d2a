-- Host files below a namespace.

-- SHA-256 of the file's mode, owner, attributes and content when the namespace
-- first changed its node. NULL: not changed, or too large.
ALTER TABLE vfs_host ADD COLUMN print TEXT;
-- By path: diff and apply look each changed path up.
CREATE INDEX vfs_host_path ON vfs_host (path);
