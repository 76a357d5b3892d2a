/* The files of a home: configuration, permissions, disk, left-over files. */
#include "ops/doctor/doctor.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "ops/staging_dir.h"
#include "schema/config.h"
#include "schema/price.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define LOW_BYTES  (INT64_C(256) << 20)
#define FULL_BYTES (INT64_C(8) << 20)

static void check_config(struct doctor *d)
{
	struct home_path path = home_path(d->home, HOME_CONFIG);
	struct config c;
	struct err e;
	char *rest = NULL;

	if (config_load(&c, path.text, &e)) {
		doctor_report(d, FINDING_config_broken, path.text, "%s",
			      e.text);
		return;
	}
	for (char *line = strtok_r(c.warnings.p, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		doctor_report(d, FINDING_config_key, path.text, "%s", line);
	config_fini(&c);
}

static void check_prices(struct doctor *d)
{
	struct model_price ignored;
	struct err e;

	if (price_find(d->home->root, NULL, &ignored, &e) < 0)
		doctor_report(d, FINDING_prices_bad, d->home->root, "%s",
			      e.text);
}

static void check_mode(struct doctor *d, const char *path)
{
	struct stat st;

	if (lstat(path, &st) || S_ISLNK(st.st_mode) || S_ISSOCK(st.st_mode))
		return;
	if (st.st_mode & 077)
		doctor_report(d, FINDING_mode_loose, path,
			      "it has mode %04o, and should have %04o",
			      (unsigned)(st.st_mode & 07777),
			      (unsigned)(st.st_mode & 0700));
}

/* Calls fn for each name in a directory except "." and "..". */
static void each(struct doctor *d, const char *dir,
		 void (*fn)(struct doctor *d, const char *path,
			    const char *name))
{
	DIR *all = opendir(dir);
	const struct dirent *en;
	char path[PATH_MAX];

	while (all && (en = readdir(all)))
		if (strcmp(en->d_name, ".") != 0 &&
		    strcmp(en->d_name, "..") != 0 &&
		    (size_t)snprintf(path, sizeof path, "%s/%s", dir,
				     en->d_name) < sizeof path)
			fn(d, path, en->d_name);
	if (all)
		closedir(all);
}

static void check_any(struct doctor *d, const char *path, const char *name)
{
	(void)name;
	check_mode(d, path);
}

/* Includes -wal and -shm; workspaces belong to the runs. */
static void check_agent_file(struct doctor *d, const char *path,
			     const char *name)
{
	if (strcmp(name, "workspace") != 0)
		check_mode(d, path);
}

static void check_agent_dir(struct doctor *d, const char *path,
			    const char *name)
{
	(void)name;
	check_mode(d, path);
	each(d, path, check_agent_file);
}

static void check_modes(struct doctor *d)
{
	static const enum home_place places[] = {
		HOME_CONFIG, HOME_CREDENTIALS, HOME_STATE, HOME_AGENTS,
		HOME_RUN,    HOME_BACKUPS,     HOME_LOGS};

	check_mode(d, d->home->root);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		check_mode(d, home_path(d->home, places[i]).text);
	each(d, home_path(d->home, HOME_CREDENTIALS).text, check_any);
	each(d, home_path(d->home, HOME_STATE).text, check_any);
	each(d, home_path(d->home, HOME_BACKUPS).text, check_any);
	each(d, home_path(d->home, HOME_AGENTS).text, check_agent_dir);
}

static void check_disk(struct doctor *d)
{
	struct err e;
	const char *net = file_network_fs(d->home->root);
	struct statvfs st;
	char text[TEXT_HUMAN];
	int64_t left;

	if (net)
		doctor_report(d, FINDING_network_fs, d->home->root,
			      "the home is on a network filesystem (%s)", net);
	if (home_is_writable(d->home, &e) && e.code == ERR_READONLY)
		doctor_report(d, FINDING_read_only, d->home->root, "%s",
			      e.text);
	if (statvfs(d->home->root, &st))
		return;
	left = (int64_t)st.f_bavail * (int64_t)st.f_frsize;
	if (left < LOW_BYTES)
		doctor_report(d,
			      left < FULL_BYTES ? FINDING_disk_full
						: FINDING_disk_low,
			      d->home->root, "%s are free on its disk",
			      text_human_bytes(left, text));
}

/* --- what was left behind -------------------------------------------------- */

static void check_leftover(struct doctor *d, const char *path, const char *name)
{
	bool work = !strncmp(name, ".work-", 6) ||
		    !strncmp(name, ".skep-restore-", 14);
	bool part = !strncmp(name, ".skep-", 6) && strstr(name, ".part");

	if (work && staging_dir_is_stale(path))
		doctor_report(d, FINDING_leftover, path, "a directory of work");
	else if (part && staging_dir_is_stale(path))
		doctor_report(d, FINDING_leftover, path, "half of an archive");
}

static void check_beside(struct doctor *d, const char *path, const char *name)
{
	char copy[PATH_MAX], before[PATH_MAX];

	snprintf(copy, sizeof copy, "%s", d->home->root);
	snprintf(before, sizeof before, "%.2000s.before-", basename(copy));
	if (!strncmp(name, before, strlen(before)))
		doctor_report(d, FINDING_old_home, path, "an older home");
	else if (!strncmp(name, ".skep-restore-", 14))
		check_leftover(d, path, name);
}

static void check_socket(struct doctor *d, const char *path, const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct stat st;
	bool dead;
	int fd;

	(void)name;
	if (lstat(path, &st) || !S_ISSOCK(st.st_mode) ||
	    strlen(path) >= sizeof to.sun_path)
		return;
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	dead = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) &&
	       errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	if (dead && !d->supervised)
		doctor_report(d, FINDING_stale_socket, path,
			      "no process listens on it");
}

void doctor_files(struct doctor *d)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof parent, "%s", d->home->root);
	check_config(d);
	check_prices(d);
	check_modes(d);
	check_disk(d);
	each(d, home_path(d->home, HOME_BACKUPS).text, check_leftover);
	each(d, home_path(d->home, HOME_RUN).text, check_socket);
	each(d, dirname(parent), check_beside);
}
