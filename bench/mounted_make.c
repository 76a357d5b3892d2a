/* `make -j2` of a small program in C, on the mount and on the disk. */
#include "bench/mounted.h"

#include "base/clock.h"
#include "bench/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS  40 /* source files */
#define PARTS  30 /* functions in each */
#define ROUNDS 3

static int write_unit(const char *dir, int unit)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/unit%d.c", dir, unit);
	f = fopen(path, "we");
	if (!f)
		return -1;
	fprintf(f, "#include <stdio.h>\n#include <stdlib.h>\n"
		   "#include <string.h>\n#include \"all.h\"\n");
	for (int i = 0; i < PARTS; i++)
		fprintf(f,
			"int part%d_%d(int n)\n{\n\tint sum = %d;\n"
			"\tfor (int i = 0; i < n; i++)\n"
			"\t\tsum += i %% %d ? sum ^ i : (int)strlen(\"%d\");\n"
			"\treturn sum;\n}\n",
			unit, i, i, i + 2, unit);
	return fclose(f);
}

/* A main file, a header with all functions, and a makefile. */
static int write_rest(const char *dir)
{
	char path[4096];
	FILE *h, *c, *make;

	snprintf(path, sizeof path, "%s/all.h", dir);
	h = fopen(path, "we");
	snprintf(path, sizeof path, "%s/main.c", dir);
	c = fopen(path, "we");
	snprintf(path, sizeof path, "%s/Makefile", dir);
	make = fopen(path, "we");
	if (!h || !c || !make)
		return -1;
	fprintf(c, "#include \"all.h\"\nint main(void)\n{\n\treturn 0");
	for (int u = 0; u < UNITS; u++) {
		for (int i = 0; i < PARTS; i++)
			fprintf(h, "int part%d_%d(int n);\n", u, i);
		fprintf(c, " + part%d_0(%d)", u, u);
	}
	fprintf(c, " == 1;\n}\n");
	fprintf(make, "CFLAGS = -O1\nprog: $(patsubst %%.c,%%.o,"
		      "$(wildcard *.c))\n\t$(CC) -o $@ $^\n"
		      "%%.o: %%.c all.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"
		      "clean:\n\trm -f *.o prog\n");
	return fclose(h) | fclose(c) | fclose(make);
}

static int run_make(const char *dir, const char *goal)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execlp("make", "make", "-s", "-j2", "-C", dir, goal,
		       (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static int prepare(const char *dir, struct err *e)
{
	int rc = write_rest(dir);

	for (int i = 0; rc == 0 && i < UNITS; i++)
		rc = write_unit(dir, i);
	return rc ? err_errno_set(e, "the program to build in %s", dir) : 0;
}

static int build(const char *dir, struct samples *times, struct err *e)
{
	int64_t since;

	if (run_make(dir, "clean"))
		return err_set(e, ERR_UNSUPPORTED, "make does not work here");
	since = clock_mono_ns();
	if (run_make(dir, "prog"))
		return err_set(e, ERR_UNSUPPORTED,
			       "the compiler does not "
			       "work here");
	samples_add(times, (double)(clock_mono_ns() - since) / 1e6);
	return 0;
}

static void conclude(struct bench_run *r, const struct samples times[2])
{
	double ours = samples_median(&times[0]),
	       disk = samples_median(&times[1]);

	bench_say(r,
		  "make -j2 of %d files took %.0f ms on the mount and %.0f on "
		  "the disk.",
		  UNITS, ours, disk);
	bench_metric(r, &(struct bench_metric){.metric = "fuse_make_of_ext4",
					       .unit = "times",
					       .value = ours / disk,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 1.3});
}

int mounted_make(struct bench_run *r, const char *const dirs[2], struct err *e)
{
	struct samples times[2] = {0};
	int rc = prepare(dirs[0], e) || prepare(dirs[1], e) ? -1 : 0;

	for (int i = 0; rc == 0 && i < 2 * ROUNDS && !bench_stopped(r); i++) {
		bench_progress(r, "building a program", i, 2 * ROUNDS);
		rc = build(dirs[i % 2], &times[i % 2], e);
	}
	if (rc == 0 && !bench_stopped(r))
		conclude(r, times);
	if (rc == 0 || e->code != ERR_UNSUPPORTED)
		return rc;
	bench_say(r, "No build was measured: %s.", e->text);
	return 0;
}
