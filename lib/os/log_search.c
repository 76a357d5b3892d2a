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
#include <unistd.h>

/* --- the files ------------------------------------------------------------ */

#define BEGINNING 256

/* Inodes do not identify a file: a copy has another one, and file systems reuse
 * them at once. Its beginning does, since lines have times. */
struct log_file {
	char name[NAME_MAX + 1]; /* without the number */
	int number;              /* of a rotated file; 0: the current one */
	int64_t mtime_ms;
	off_t size, offset; /* offset: read up to here */
	ino_t inode;
	char beginning[BEGINNING];
	size_t nbeginning;
	FILE *in;
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

static void read_beginning(struct log_file *f)
{
	ssize_t n = pread(fileno(f->in), f->beginning, BEGINNING, 0);

	f->nbeginning = n > 0 ? (size_t)n : 0;
}

static void add_file(struct log_files *f, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct log_file *file;
	struct stat st;
	size_t n = 0;
	int number = rotation_number(name, &n);
	FILE *in;

	text_printf(path, sizeof path, "%s/%s", dir, name);
	in = number < 0 ? NULL : fopen(path, "re");
	if (!in)
		return;
	if (fstat(fileno(in), &st) || !S_ISREG(st.st_mode)) {
		fclose(in);
		return;
	}
	f->all = realloc(f->all, (f->n + 1) * sizeof *f->all);
	if (!f->all)
		abort();
	file = &f->all[f->n++];
	*file = (struct log_file){.number = number,
				  .mtime_ms = (int64_t)st.st_mtime * 1000,
				  .size = st.st_size,
				  .inode = st.st_ino,
				  .in = in};
	memcpy(file->name, name, n);
	read_beginning(file);
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

static void close_files(struct log_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->all[i].in)
			fclose(f->all[i].in);
	free(f->all);
	*f = (struct log_files){0};
}

/* --- lines ---------------------------------------------------------------- */

/* Calls fn for the matching lines from f->offset on; only whole lines move the
 * offset. */
static int read_lines(struct log_file *f, const struct log_filter *filter,
		      int64_t *at, log_consumer *fn, void *arg, struct err *e)
{
	char *text = NULL;
	size_t cap = 0;
	struct arena a = {0};
	ssize_t n;
	int rc = 0;

	if (fseeko(f->in, f->offset, SEEK_SET))
		rc = err_errno_set(e, "%s", f->name);
	while (rc == 0 && (n = getline(&text, &cap, f->in)) > 0) {
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

/* A file that is too old to have such lines is not read. */
static int read_files(struct log_files *files, const struct log_filter *f,
		      struct kept_lines *kept, struct err *e)
{
	int64_t at = f->since;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < files->n; i++) {
		struct log_file *file = &files->all[i];

		if (i == 0 || strcmp(files->all[i - 1].name, file->name) != 0) {
			kept->first = kept->n;
			at = f->since;
		}
		if (file->mtime_ms + 1000 >= f->since)
			rc = read_lines(file, f, &at, keep_line, kept, e);
		else
			file->offset = file->size;
	}
	return rc;
}

/* --- follow --------------------------------------------------------------- */

struct log_follow {
	char dir[PATH_MAX];
	struct log_files files; /* none of them is open */
	int64_t at;
};

/* Remembers how far the files were read. */
static void remember(struct log_follow *w, struct log_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		fclose(files->all[i].in);
		files->all[i].in = NULL;
	}
	close_files(&w->files);
	w->files = *files;
	*files = (struct log_files){0};
}

static struct log_follow *new_follow(const char *dir, struct log_files *files)
{
	struct log_follow *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	text_printf(w->dir, sizeof w->dir, "%s", dir);
	remember(w, files);
	return w;
}

int log_search(const char *dir, const struct log_filter *f, int64_t limit,
	       struct log_follow **follow, log_consumer *fn, void *arg,
	       struct err *e)
{
	struct kept_lines kept = {.limit = (size_t)limit};
	struct log_files files;
	int rc;

	list_files(&files, dir);
	rc = read_files(&files, f, &kept, e);
	if (rc == 0)
		rc = consume_newest(&kept, fn, arg, e);
	if (rc == 0 && follow)
		*follow = new_follow(dir, &files);
	for (size_t i = 0; i < kept.n; i++)
		drop_line(&kept.all[i]);
	free(kept.all);
	close_files(&files);
	return rc;
}

/* The later listing of a file that was read, or of a copy of it. A copy that is
 * being made is shorter. */
static bool has_same_beginning(const struct log_file *old,
			       const struct log_file *f)
{
	size_t n = old->nbeginning < f->nbeginning ? old->nbeginning
						   : f->nbeginning;

	return strcmp(old->name, f->name) == 0 &&
	       memcmp(old->beginning, f->beginning, n) == 0;
}

static const struct log_file *find_known(const struct log_follow *w,
					 const struct log_file *f)
{
	const struct log_file *copied = NULL;

	for (size_t i = 0; i < w->files.n; i++) {
		const struct log_file *old = &w->files.all[i];

		if (!has_same_beginning(old, f))
			continue;
		if (old->inode == f->inode && old->offset <= f->size)
			return old;
		copied = old;
	}
	return f->number ? copied : NULL;
}

/* The file that was the current one is listed, under some number. */
static bool is_listed(const struct log_files *now, const struct log_file *old)
{
	for (size_t i = 0; i < now->n; i++)
		if (has_same_beginning(old, &now->all[i]) &&
		    now->all[i].size >= old->offset)
			return true;
	return false;
}

/* A rotation during the listing can hide a file that was not read to its end. The
 * next listing has it, unless it was deleted. */
static void list_again(const struct log_follow *w, struct log_files *now)
{
	bool is_whole = false;

	list_files(now, w->dir);
	for (int tries = 0; !is_whole && tries < 3; tries++) {
		is_whole = true;
		for (size_t i = 0; i < w->files.n; i++)
			if (w->files.all[i].number == 0)
				is_whole &= is_listed(now, &w->files.all[i]);
		if (!is_whole) {
			close_files(now);
			list_files(now, w->dir);
		}
	}
}

/* The current file has not been truncated yet, and this is its copy. */
static bool is_being_copied(const struct log_files *now,
			    const struct log_file *f)
{
	for (size_t i = 0; f->number && i < now->n; i++) {
		const struct log_file *other = &now->all[i];

		if (other->number == 0 && other->nbeginning > 0 &&
		    has_same_beginning(other, f) && other->size >= f->size)
			return true;
	}
	return false;
}

static void forget(struct log_files *files, size_t i)
{
	fclose(files->all[i].in);
	memmove(&files->all[i], &files->all[i + 1],
		(files->n - i - 1) * sizeof *files->all);
	files->n--;
}

int log_follow_next(struct log_follow *w, const struct log_filter *f,
		    log_consumer *fn, void *arg, struct err *e)
{
	struct log_files now;
	int rc = 0;

	list_again(w, &now);
	for (size_t i = 0; i < now.n;) {
		struct log_file *file = &now.all[i];
		const struct log_file *old = find_known(w, file);

		if (is_being_copied(&now, file)) {
			forget(&now, i);
			continue;
		}
		file->offset = old ? old->offset : 0;
		if (rc == 0 && file->offset < file->size)
			rc = read_lines(file, f, &w->at, fn, arg, e);
		i++;
	}
	remember(w, &now);
	return rc;
}

void log_follow_free(struct log_follow *w)
{
	if (!w)
		return;
	close_files(&w->files);
	free(w);
}
