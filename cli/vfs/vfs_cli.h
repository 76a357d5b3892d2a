#ifndef CLI_VFS_VFS_CLI_H
#define CLI_VFS_VFS_CLI_H

#include "cli/cli.h"
#include "lib/base/shape.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/snapshot.h"

/*
 * Shared by the commands on namespaces. Their first argument is
 * AGENT[:NAME[@SNAPSHOT]]. NAME defaults to "main".
 */
#define VFS_NEEDS (NEEDS_AGENT_MAYBE | NEEDS_AGENT_WORD)

/* Opens the namespace, runs `inner`, closes it. Creates nothing. */
int vfs_cli(struct cli *cli,
	    int (*inner)(struct cli *, struct vfs *, struct err *),
	    struct err *e);

/* The same for a command that adds files: creates the file of the agent and the
 * namespace "main" if they do not exist (vfs_main.h). */
#define VFS_NEEDS_MADE (NEEDS_AGENT_MADE | NEEDS_AGENT_WORD)
int vfs_cli_make(struct cli *cli,
		 int (*inner)(struct cli *, struct vfs *, struct err *),
		 struct err *e);

/* A further argument that names a namespace of the same agent: NAME, :NAME or
 * AGENT:NAME. *word becomes NAME; ERR_USAGE for another agent. */
int vfs_other(struct cli *cli, const char **word, struct err *e);

#define VFS_FILE(F, S)          \
	F(S, text, path)        \
	F(S, text, type)        \
	F(S, text, mode)        \
	F(S, i64, links)        \
	F(S, i64, uid)          \
	F(S, i64, gid)          \
	F(S, i64, size)         \
	F(S, time, modified_at) \
	F(S, text, target)
SHAPE_DECLARE(vfs_file, VFS_FILE);

/* The displayed properties of a node; texts live as long as the command. */
int vfs_file_of(struct cli *cli, struct vfs *v, const char *path,
		const struct vfs_attr *a, struct vfs_file *out, struct err *e);

const char *vfs_type_name(mode_t mode); /* "file", "directory", … */

/* "a/b" + "c"; either may be empty. In the command's memory. */
const char *vfs_join(struct cli *cli, const char *dir, const char *name);
/* A path found below `start`, in the form that other commands accept. */
void vfs_add_found(struct buf *b, const char *start, const char *path);

#define VFS_DONE(F, S) F(S, text, namespace) F(S, text, done) F(S, text, what)
SHAPE_DECLARE(vfs_done, VFS_DONE);

/* Adds what to do to an error; -1. */
int vfs_hint(struct err *e, const char *hint);

/* Reports a change: a sentence, or an object with --json. */
__attribute__((format(printf, 5, 6))) void vfs_report(struct cli *cli,
						      const struct vfs *v,
						      const char *done,
						      const char *what,
						      const char *fmt, ...);

/* AGENT:NAME, in the command's memory. */
const char *vfs_full_name(struct cli *cli, const struct vfs *v);

#endif
