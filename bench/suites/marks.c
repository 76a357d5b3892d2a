#include "bench/suites/marks.h"

#include "lib/base/mark.h"
#include "lib/report/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mark_file *file;

int marks_begin(const char *dir, struct err *e)
{
	char path[1024];
	void *at;
	int fd;

	snprintf(path, sizeof path, "%s/marks", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)MARK_FILE_SIZE)) {
		if (fd >= 0)
			close(fd);
		return err_errno_set(e, "%s", path);
	}
	at = mmap(NULL, MARK_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	close(fd);
	if (at == MAP_FAILED)
		return err_errno_set(e, "%s", path);
	file = at;
	return setenv("SKEP_MARKS", path, 1) ? err_errno_set(e, "setenv") : 0;
}

void marks_end(void)
{
	unsetenv("SKEP_MARKS");
	if (file)
		munmap(file, MARK_FILE_SIZE);
	file = NULL;
}

/* The previous point: in the same program, or in the one that passes control to
 * it. */
static int before(int m)
{
	int at = m - 1;

	if (m == MARK_message_read)
		return MARK_given;
	if (m == MARK_worker_gone)
		return MARK_end_acknowledged;
	while (at > 0 && strcmp(mark_program((enum mark)at),
				mark_program((enum mark)m)) != 0)
		at--;
	return at;
}

struct points {
	struct histogram since[MARKS]; /* the request */
	struct histogram step[MARKS];
};

/* A run with all its marks. */
static void add_run(struct points *p, const int64_t at[MARKS])
{
	for (int m = 0; m < MARKS; m++)
		if (at[m] == 0)
			return;
	for (int m = 1; m < MARKS; m++) {
		histogram_add(&p->since[m], at[m] - at[0]);
		histogram_add(&p->step[m], at[m] > at[before(m)]
						   ? at[m] - at[before(m)]
						   : 0);
	}
}

static void add_runs(struct points *p)
{
	int64_t at[MARKS] = {0};
	uint32_t n = file->n < MARK_RECORDS ? file->n : MARK_RECORDS;

	for (uint32_t i = 0; i < n; i++) {
		const struct mark_record *r = &file->record[i];

		if (r->mark < 0 || r->mark >= MARKS)
			continue;
		if (r->mark == MARK_request) {
			add_run(p, at);
			memset(at, 0, sizeof at);
		}
		if (at[r->mark] == 0)
			at[r->mark] = r->at;
	}
	add_run(p, at);
}

void marks_table(struct bench_run *r, const char *title)
{
	struct points *p = calloc(1, sizeof *p);

	if (!p)
		abort();
	add_runs(p);
	bench_table(r, title, "ms since the request|this step|program|step");
	for (int m = 1; m < MARKS; m++)
		bench_table(r, title, "%.2f|%.2f|%s|%s",
			    (double)histogram_at(&p->since[m], 0.5) / 1e6,
			    (double)histogram_at(&p->step[m], 0.5) / 1e6,
			    mark_program((enum mark)m),
			    mark_spent((enum mark)m));
	free(p);
}
