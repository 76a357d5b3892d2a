#include "cli/vfs/vfs_cli.h"

#include "cli/vfs/vfs_main.h"
#include "lib/base/text.h"
#include "schema/agent_queries.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SHAPE_DEFINE(vfs_file, VFS_FILE);
SHAPE_DEFINE(vfs_done, VFS_DONE);

static const char *space_of(const struct cli *cli)
{
	return cli->namespace && *cli->namespace ? cli->namespace : "main";
}

static int namespace_missing(struct cli *cli, const char *name, struct err *e)
{
	if (!strcmp(name, "main"))
		return vfs_main_missing(cli, e);
	return err_set(
		e, ERR_NOTFOUND,
		"agent '%s' has no namespace '%s'; 'skep namespace ls "
		"%s' lists its namespaces, 'skep namespace create %s:%s' "
		"creates this one",
		cli->agent_name, name, cli->agent_name, cli->agent_name, name);
}

int vfs_cli(struct cli *cli,
	    int (*inner)(struct cli *, struct vfs *, struct err *),
	    struct err *e)
{
	const char *name = space_of(cli);
	const char *who = arena_printf(&cli->arena, "cli:%d", (int)getpid());
	struct vfs *v;
	int rc;

	if (!cli->agent.db)
		return namespace_missing(cli, name, e);
	rc = vfs_open(&v, cli->agent.db, name, who, e);
	if (rc && e->code == ERR_NOTFOUND && !strchr(name, '@'))
		return namespace_missing(cli, name, e);
	if (rc)
		return -1;
	rc = inner(cli, v, e);
	vfs_close(v);
	return rc;
}

int vfs_cli_make(struct cli *cli,
		 int (*inner)(struct cli *, struct vfs *, struct err *),
		 struct err *e)
{
	int found;

	if (strcmp(space_of(cli), "main") != 0)
		return vfs_cli(cli, inner, e);
	found = sql_get(cli->agent.db, Q_VFS_NS_FIND,
			&(struct vfs_key){.text = "main"},
			&(struct vfs_ns_row){0}, &cli->arena, e);
	/* another process may have created it meanwhile */
	if (found < 0 ||
	    (found == 0 && vfs_main_create(cli, e) && e->code != ERR_CONFLICT))
		return -1;
	return vfs_cli(cli, inner, e);
}

int vfs_other(struct cli *cli, const char **word, struct err *e)
{
	const char *colon = strchr(*word, ':');
	size_t n = colon ? (size_t)(colon - *word) : 0;

	if (!colon)
		return 0;
	if (n > 0 && (strlen(cli->agent_name) != n ||
		      strncmp(*word, cli->agent_name, n) != 0))
		return err_set(e, ERR_USAGE,
			       "'%s' names another agent than '%s'; both "
			       "namespaces must belong to the same agent",
			       quoted(*word).text, cli->agent_name);
	*word = colon + 1;
	return 0;
}

const char *vfs_type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "file";
	}
}

static const char *mode_text(struct cli *cli, mode_t mode)
{
	static const char bits[] = "rwxrwxrwx";
	char *out = arena_alloc(&cli->arena, 11);

	out[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-';
	for (int i = 0; i < 9; i++)
		out[i + 1] = mode & (0400u >> i) ? bits[i] : '-';
	if (mode & S_ISUID)
		out[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		out[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		out[9] = mode & S_IXOTH ? 't' : 'T';
	return out;
}

int vfs_file_of(struct cli *cli, struct vfs *v, const char *path,
		const struct vfs_attr *a, struct vfs_file *out, struct err *e)
{
	struct buf target = BUF_MAX(8192);

	*out = (struct vfs_file){
		.path = arena_text(&cli->arena, path),
		.type = vfs_type_name(a->mode),
		.mode = mode_text(cli, a->mode),
		.links = a->nlink,
		.uid = a->uid,
		.gid = a->gid,
		.size = a->size,
		.modified_at = a->modified / 1000000,
	};
	if (!S_ISLNK(a->mode))
		return 0;
	if (vfs_readlink(v, a->ino, &target, e)) {
		buf_fini(&target);
		return -1;
	}
	out->target = arena_textn(&cli->arena, target.p, target.n);
	buf_fini(&target);
	return 0;
}

const char *vfs_join(struct cli *cli, const char *dir, const char *name)
{
	return arena_printf(
		&cli->arena, "%s%s%s", dir,
		*dir && *name && dir[strlen(dir) - 1] != '/' ? "/" : "", name);
}

void vfs_add_found(struct buf *b, const char *start, const char *path)
{
	buf_adds(b, start);
	if (*start && *path && start[strlen(start) - 1] != '/')
		buf_addc(b, '/');
	buf_adds(b, path);
}

const char *vfs_full_name(struct cli *cli, const struct vfs *v)
{
	return arena_printf(&cli->arena, "%s:%s", cli->agent_name, vfs_name(v));
}

int vfs_hint(struct err *e, const char *hint)
{
	struct err was = *e;

	return err_set(e, was.code, "%s; %s", was.text, hint);
}

void vfs_report(struct cli *cli, const struct vfs *v, const char *done,
		const char *what, const char *fmt, ...)
{
	struct vfs_done result = {vfs_name(v), done, what};
	struct buf text = BUF_MAX(1 << 20);
	va_list ap;

	if (cli->out.json) {
		output_object(&cli->out, &vfs_done_shape, &result);
		return;
	}
	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	output_note(&cli->out, "%s", text.p);
	buf_fini(&text);
}
