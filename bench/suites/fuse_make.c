/* `make -j2` of a real program in C, on the mount and on the disk. */
#include "bench/suites/fuse_mount.h"

#include "lib/base/clock.h"
#include "lib/report/stats.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROJECT "lua5.4" /* a source package of Debian */
#define ROUNDS  3

/* Downloads the source package from the mirror that this system uses. $1: an
 * empty directory; then a directory for each copy. */
static const char fetch[] =
	"set -e; cd \"$1\"; shift\n"
	"mkdir -p parts lists/partial cache/archives/partial\n"
	"for f in /etc/apt/sources.list.d/debian.sources; do\n"
	"  [ ! -f $f ] || sed 's/^Types:.*/Types: deb-src/' $f "
	"> parts/own.sources\n"
	"done\n"
	"[ ! -f /etc/apt/sources.list ] || "
	"sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > parts/own.list\n"
	"get() { timeout 60 apt-get -qq -o Dir::Etc::SourceList=/dev/null "
	"-o Dir::Etc::SourceParts=\"$PWD/parts\" "
	"-o Dir::State::Lists=\"$PWD/lists\" -o Dir::Cache=\"$PWD/cache\" "
	"\"$@\" > log 2>&1; }\n"
	"get update\n"
	"get --download-only source " PROJECT "\n"
	"for to; do tar -xzf " PROJECT "_*.orig.tar.gz --strip-components=1 "
	"-C \"$to\"; done\n";

/* The status as from waitpid, or -1. */
static int run_program(const char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static int run_make(const char *dir, const char *goal)
{
	char src[4096];

	snprintf(src, sizeof src, "%s/src", dir);
	return run_program(
		(const char *[]){"make", "-s", "-j2", "-C", src, goal, NULL});
}

static int prepare_sources(struct bench_run *r, const char *const dirs[2],
			   struct err *e)
{
	char full[2][4096];
	const char *room = bench_dir(r, "source");
	int rc;

	if (!realpath(dirs[0], full[0]) || !realpath(dirs[1], full[1]))
		return err_errno_set(e, "%s", dirs[0]);
	rc = run_program((const char *[]){"sh", "-c", fetch, "sh", room,
					  full[0], full[1], NULL});
	bench_dir_remove(r, room);
	return rc ? err_set(e, ERR_UNSUPPORTED,
			    "the source package " PROJECT " cannot be fetched")
		  : 0;
}

static int build(const char *dir, struct samples *times, struct err *e)
{
	int64_t since;

	if (run_make(dir, "clean"))
		return err_set(e, ERR_UNSUPPORTED, "make does not work here");
	since = clock_mono_ns();
	if (run_make(dir, "posix"))
		return err_set(e, ERR_UNSUPPORTED,
			       "the compiler does not "
			       "work here");
	samples_add(times, (double)(clock_mono_ns() - since) / 1e6);
	return 0;
}

static void print_summary(struct bench_run *r, const struct samples times[2])
{
	double ours = samples_median(&times[0]),
	       disk = samples_median(&times[1]);

	bench_print(r,
		    "make -j2 of " PROJECT
		    " took %.0f ms on the mount and %.0f on the disk.",
		    ours, disk);
	bench_metric(r, &(struct bench_metric){.metric = "fuse_make_of_ext4",
					       .unit = "times",
					       .value = ours / disk,
					       .less_is_better = true,
					       .against = "target",
					       .against_value = 1.3});
}

int fuse_make(struct bench_run *r, const char *const dirs[2], struct err *e)
{
	struct samples times[2] = {0};
	int rc = prepare_sources(r, dirs, e);

	for (int i = 0; rc == 0 && i < 2 * ROUNDS && !bench_stopped(r); i++) {
		int side = (i + i / 2) % 2; /* the order turns */

		bench_progress(r, "building a program", i, 2 * ROUNDS);
		rc = build(dirs[side], &times[side], e);
	}
	if (rc == 0 && !bench_stopped(r))
		print_summary(r, times);
	if (rc == 0 || e->code != ERR_UNSUPPORTED)
		return rc;
	bench_print(r, "make -j2: skipped: %s.", e->text);
	return 0;
}
