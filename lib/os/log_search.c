#include "lib/os/log_search.h"

#include "lib/base/arena.h"
#include "lib/base/text.h"
#include "lib/os/log_line.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the files ------------------------------------------------------------ */

struct log_file {
	char name[NAME_MAX + 1]; /* without the number */
	int number;              /* of a rotated file; 0: the current one */
	int64_t mtime_ms;
	off_t offset; /* of a follower: read up to here */
	ino_t inode;
};

struct log_files {
	struct log_file *all;
	size_t n;
};

/* "NAME.log" or "NAME.log.7"; the number, or -1. */
static int rotation_number(const char *name, size_t *n)
{
	const char *dot = strstr(name, ".log");
	int64_t number = 0;
	struct err e;

	if (!dot || dot == name || strncmp(name, "audit.", 6) == 0)
		return -1;
	*n = (size_t)(dot - name) + 4;
	if (!dot[4])
		return 0;
	if (dot[4] != '.' || text_i64("number", dot + 5, 1, 1000, &number, &e))
		return -1;
	return (int)number;
}

static void add_file(struct log_files *f, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct log_file *file;
	struct stat st;
	size_t n = 0;
	int number = rotation_number(name, &n);

	text_printf(path, sizeof path, "%s/%s", dir, name);
	if (number < 0 || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	f->all = realloc(f->all, (f->n + 1) * sizeof *f->all);
	if (!f->all)
		abort();
	file = &f->all[f->n++];
	*file = (struct log_file){.number = number,
				  .mtime_ms = (int64_t)st.st_mtime * 1000,
				  .offset = st.st_size,
				  .inode = st.st_ino};
	memcpy(file->name, name, n);
}

/* The files of a log, oldest first. */
static int compare_files(const void *x, const void *y)
{
	const struct log_file *a = x, *b = y;
	int names = strcmp(a->name, b->name);

	return names ? names : b->number - a->number;
}

static void list_files(struct log_files *f, const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *en;

	*f = (struct log_files){0};
	while (d && (en = readdir(d)))
		add_file(f, dir, en->d_name);
	if (d)
		closedir(d);
	if (f->n > 0)
		qsort(f->all, f->n, sizeof *f->all, compare_files);
}

static FILE *open_file(const char *dir, const struct log_file *f)
{
	char path[PATH_MAX], number[16] = "";

	if (f->number)
		text_printf(number, sizeof number, ".%d", f->number);
	text_printf(path, sizeof path, "%s/%s%s", dir, f->name, number);
	return fopen(path, "re");
}

/* --- lines ---------------------------------------------------------------- */

/* Calls fn for the matching lines from f->offset on; only whole lines move the
 * offset. */
static int read_lines(const char *dir, struct log_file *f,
		      const struct log_filter *filter, int64_t *at,
		      log_consumer *fn, void *arg, struct err *e)
{
	FILE *in = open_file(dir, f);
	char *text = NULL;
	size_t cap = 0;
	struct arena a = {0};
	ssize_t n;
	int rc = 0;

	if (!in)
		return 0; /* it was rotated away */
	if (f->offset && fseeko(in, f->offset, SEEK_SET))
		rc = err_errno_set(e, "%s", f->name);
	while (rc == 0 && (n = getline(&text, &cap, in)) > 0) {
		struct log_line line;

		if (text[n - 1] != '\n' && f->number == 0)
			break; /* it is being written */
		f->offset += n;
		if (text[n - 1] == '\n')
			text[n - 1] = '\0';
		arena_reset(&a);
		log_line_parse(f->name, text, *at, &line, &a);
		*at = line.at;
		if (log_line_matches(&line, filter))
			rc = fn(arg, &line, e);
	}
	free(text);
	arena_fini(&a);
	fclose(in);
	return rc;
}

/* --- the newest lines ----------------------------------------------------- */

struct kept_line {
	struct log_line line;
	char *text, *source, *level, *module, *run, *message;
	size_t order;
};

struct kept_lines {
	struct kept_line *all;
	size_t n, cap, limit;
	size_t first; /* of this log */
	size_t order;
};

static char *copy(const char *text)
{
	char *out = text ? strdup(text) : NULL;

	if (text && !out)
		abort();
	return out;
}

static void drop_line(struct kept_line *k)
{
	free(k->text);
	free(k->source);
	free(k->level);
	free(k->module);
	free(k->run);
	free(k->message);
}

/* Of each log, at most twice the limit is kept. */
static void drop_oldest(struct kept_lines *l)
{
	size_t own = l->n - l->first, drop = own - l->limit;

	if (own < 2 * l->limit)
		return;
	for (size_t i = 0; i < drop; i++)
		drop_line(&l->all[l->first + i]);
	memmove(l->all + l->first, l->all + l->first + drop,
		(own - drop) * sizeof *l->all);
	l->n -= drop;
}

static int keep_line(void *arg, const struct log_line *line, struct err *e)
{
	struct kept_lines *l = arg;
	struct kept_line *k;

	(void)e;
	drop_oldest(l);
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 256;
		l->all = realloc(l->all, l->cap * sizeof *l->all);
		if (!l->all)
			abort();
	}
	k = &l->all[l->n++];
	*k = (struct kept_line){.text = copy(line->line),
				.source = copy(line->source),
				.level = copy(line->level),
				.module = copy(line->module),
				.run = copy(line->run),
				.message = copy(line->message),
				.order = l->order++};
	k->line = (struct log_line){line->at, k->source,  k->level, k->module,
				    k->run,   k->message, k->text};
	return 0;
}

static int compare_lines(const void *x, const void *y)
{
	const struct kept_line *a = x, *b = y;

	if (a->line.at != b->line.at)
		return a->line.at < b->line.at ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static int consume_newest(struct kept_lines *l, log_consumer *fn, void *arg,
			  struct err *e)
{
	size_t from = l->n > l->limit ? l->n - l->limit : 0;
	int rc = 0;

	if (l->n > 0)
		qsort(l->all, l->n, sizeof *l->all, compare_lines);
	for (size_t i = from; rc == 0 && i < l->n; i++)
		rc = fn(arg, &l->all[i].line, e);
	return rc;
}

int log_search(const char *dir, const struct log_filter *f, int64_t limit,
	       log_consumer *fn, void *arg, struct err *e)
{
	struct kept_lines kept = {.limit = (size_t)limit};
	struct log_files files;
	int64_t at = f->since;
	int rc = 0;

	list_files(&files, dir);
	for (size_t i = 0; rc == 0 && i < files.n; i++) {
		struct log_file *file = &files.all[i];

		if (i == 0 || strcmp(files.all[i - 1].name, file->name) != 0) {
			kept.first = kept.n;
			at = f->since;
		}
		file->offset = 0;
		if (file->mtime_ms + 1000 >= f->since)
			rc = read_lines(dir, file, f, &at, keep_line, &kept, e);
	}
	if (rc == 0)
		rc = consume_newest(&kept, fn, arg, e);
	for (size_t i = 0; i < kept.n; i++)
		drop_line(&kept.all[i]);
	free(kept.all);
	free(files.all);
	return rc;
}

/* --- follow --------------------------------------------------------------- */

struct log_follow {
	char dir[PATH_MAX];
	struct log_files files;
	int64_t at;
};

struct log_follow *log_follow_new(const char *dir)
{
	struct log_follow *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	text_printf(w->dir, sizeof w->dir, "%s", dir);
	list_files(&w->files, dir);
	return w;
}

/* The file was read before, maybe under another number. */
static const struct log_file *find_known(const struct log_follow *w,
					 const struct log_file *f)
{
	for (size_t i = 0; i < w->files.n; i++)
		if (w->files.all[i].inode == f->inode &&
		    strcmp(w->files.all[i].name, f->name) == 0)
			return &w->files.all[i];
	return NULL;
}

/* Where the follower continues in a file of this size. A file that is shorter than
 * before was copied to number 1 and truncated. */
static off_t continue_at(const struct log_follow *w, const struct log_file *f,
			 off_t size)
{
	const struct log_file *old = find_known(w, f);

	if (old)
		return old->offset <= size ? old->offset : 0;
	if (f->number == 0)
		return 0;
	for (size_t i = 0; f->number == 1 && i < w->files.n; i++) {
		old = &w->files.all[i];
		if (old->number == 0 && strcmp(old->name, f->name) == 0 &&
		    old->offset <= size)
			return old->offset;
	}
	return size; /* a copy of what was read */
}

int log_follow_next(struct log_follow *w, const struct log_filter *f,
		    log_consumer *fn, void *arg, struct err *e)
{
	struct log_files now;
	int rc = 0;

	list_files(&now, w->dir);
	for (size_t i = 0; i < now.n; i++) {
		struct log_file *file = &now.all[i];
		off_t size = file->offset;

		file->offset = continue_at(w, file, size);
		if (rc == 0 && file->offset < size)
			rc = read_lines(w->dir, file, f, &w->at, fn, arg, e);
	}
	free(w->files.all);
	w->files = now;
	return rc;
}

void log_follow_free(struct log_follow *w)
{
	free(w->files.all);
	free(w);
}
