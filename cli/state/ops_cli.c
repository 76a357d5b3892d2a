#include "cli/state/ops_cli.h"

#include "cli/remote.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/open_files.h"
#include "schema/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES_MAX 65536
/* A tenth of the CPU weight of a run; nice 19 would starve on a busy
 * machine. */
#define NICENESS 10

static void at(void *arg, int64_t done, int64_t total)
{
	struct ops_bar *b = arg;

	if (!b->begun)
		progress_begin(&b->p, b->out, b->what, total);
	b->begun = true;
	progress_at(&b->p, done);
}

struct ops_progress ops_bar(struct ops_bar *b, const struct cli *cli,
			    const char *what)
{
	*b = (struct ops_bar){.out = &cli->out, .what = what};
	return (struct ops_progress){at, b};
}

void ops_bar_end(struct ops_bar *b)
{
	if (b->begun)
		progress_end(&b->p);
	b->begun = false;
}

void ops_lower_priority(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7));
}

static int put_backup(struct cli *cli, void *arg, struct err *e)
{
	const struct backup_run_row *row = arg;

	if (sql_exec(cli->control, Q_BACKUP_RUN_PUT, row, e) < 0)
		return -1;
	return row->ended_at == OPT_NONE
		       ? 0
		       : control_audit(cli->control, NULL, "backup.create",
				       row->id, NULL, e);
}

int ops_backup_note(struct cli *cli, struct backup_run_row *row, struct err *e)
{
	struct buf body = BUF_MAX(1 << 20);
	struct cli_act act = {.method = "POST",
			      .path = "/v1/backups",
			      .direct = put_backup,
			      .arg = row};
	int rc;

	json_add_shape(&body, &backup_run_row_shape, row);
	act.body = body.p;
	rc = cli_act(cli, &act, e);
	buf_fini(&body);
	return rc;
}

struct audit {
	const char *act, *subject, *detail;
};

static int put_audit(struct cli *cli, void *arg, struct err *e)
{
	const struct audit *a = arg;

	return control_audit(cli->control, NULL, a->act, a->subject, a->detail,
			     e);
}

int ops_audit(struct cli *cli, const char *act, const char *subject,
	      const char *detail, struct err *e)
{
	struct audit a = {act, subject, detail};
	struct buf body = BUF_MAX(64u << 20);
	struct cli_act how = {.method = "POST",
			      .path = "/v1/audit",
			      .direct = put_audit,
			      .arg = &a};
	int rc;

	json_begin_object(&body);
	json_put_raw(&body, "detail", detail ? detail : "{}");
	json_put_text(&body, "act", act);
	json_put_text(&body, "subject", subject);
	json_end_object(&body);
	how.body = body.p;
	rc = cli_act(cli, &how, e);
	buf_fini(&body);
	return rc;
}

/* 1 if there may be more, 0, -1. A batch may be spent on rows that are not
 * counted, so its number may be 0. */
static int ask_batch(struct cli *cli, const char *path, const char *body,
		     int64_t *sum, struct err *e)
{
	cJSON *answer = remote_call(cli, "POST", path, body, e);
	int64_t n;
	int more = -1;

	if (answer && !text_i64("note", json_text(answer, "note", ""), 0,
				INT_MAX, &n, e)) {
		*sum += n;
		more = json_bool(answer, "changed", false);
	}
	cJSON_Delete(answer);
	return more;
}

int64_t ops_ask_batches(struct cli *cli, const char *path, const char *body,
			struct err *e)
{
	int64_t sum = 0;
	int more;

	do {
		more = ask_batch(cli, path, body, &sum, e);
	} while (more > 0);
	return more < 0 ? -1 : sum;
}

int ops_open_archive(const char *path, int64_t *size, struct err *e)
{
	struct stat st;
	int fd = !strcmp(path, "-") ? dup(STDIN_FILENO)
				    : open_files_openat(AT_FDCWD, path,
							O_RDONLY | O_CLOEXEC);

	*size = 0;
	if (fd < 0 || fstat(fd, &st)) {
		err_errno_set(e, "%s", quoted(path).text);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (S_ISREG(st.st_mode))
		*size = st.st_size;
	return fd;
}

const char *const *ops_names(struct cli *cli, const char *option, int *n,
			     struct err *e)
{
	const char **names = arena_alloc(&cli->arena,
					 NAMES_MAX * sizeof *names);
	const char *given;

	*n = 0;
	for (int i = 0; (given = cli_many(cli, option, i)); i++) {
		char *rest = NULL, *copy = arena_text(&cli->arena, given);

		for (char *w = strtok_r(copy, ", ", &rest); w;
		     w = strtok_r(NULL, ", ", &rest)) {
			if (text_check_name("agent", w, e))
				return NULL;
			if (*n < NAMES_MAX)
				names[(*n)++] = w;
		}
	}
	return names;
}

int ops_each_file(struct cli *cli, const char *what, ops_file *fn, void *arg,
		  struct err *e)
{
	const char *only = cli_option(cli, "agent");
	struct agent_database_row *rows;
	struct ops_bar bar;
	struct ops_progress progress = ops_bar(&bar, cli, what);
	int rc = 0, seen = 0;
	int n = sql_collect(cli->control, Q_AGENT_DATABASE_LIST, NULL, 1 << 20,
			    &rows, &cli->arena, e);

	for (int i = 0; i < n; i++) {
		struct err why;

		if (only && strcmp(only, rows[i].agent) != 0)
			continue;
		seen++;
		if (fn(cli, &rows[i], arg, &why)) {
			if (rc)
				fprintf(stderr, "skep: %s\n", why.text);
			else
				*e = why;
			rc = -1;
		}
		ops_progress_report(&progress, i + 1, n);
	}
	ops_bar_end(&bar);
	if (only && !seen && n >= 0)
		return err_set(e, ERR_NOTFOUND, "agent '%s' has no data", only);
	return n < 0 ? -1 : rc;
}
