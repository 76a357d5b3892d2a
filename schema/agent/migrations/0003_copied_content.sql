-- Contents that forks of namespaces of other agents have brought into this file,
-- by the SHA-256 of their bytes: each is stored once. A row is a user of its
-- content, which therefore does not change. gc deletes rows whose content has no
-- other user.
CREATE TABLE vfs_copied (
  digest       TEXT    PRIMARY KEY,
  blob         INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- The users of contents: a content has as many rows here as vfs_blob_refs says.
CREATE VIEW vfs_blob_user AS
SELECT blob FROM vfs_inode WHERE blob IS NOT NULL
UNION ALL SELECT blob FROM vfs_chunk
UNION ALL SELECT blob FROM vfs_undo_inode WHERE blob IS NOT NULL
UNION ALL SELECT blob FROM vfs_undo_chunk WHERE blob IS NOT NULL
UNION ALL SELECT blob FROM vfs_copied;
