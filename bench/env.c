#include "bench/harness.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

static void put_variable(struct env *env, const char *name, const char *value)
{
	if (env->n < ENV_MAX)
		env->items[env->n++] = (struct env_item){name, value};
}

static const char *filesystem_of(const char *dir, struct arena *a)
{
	static const struct {
		unsigned magic;
		const char *name;
	} known[] = {
		{0xef53, "ext4"},        {0x58465342, "xfs"},
		{0x9123683e, "btrfs"},   {0x01021994, "tmpfs"},
		{0x794c7630, "overlay"}, {0x2fc12fc1, "zfs"},
		{0xf2f52010, "f2fs"},
	};
	struct statfs fs;

	if (statfs(dir, &fs))
		return "unknown";
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if ((unsigned)fs.f_type == known[i].magic)
			return known[i].name;
	return arena_printf(a, "0x%lx", (unsigned long)fs.f_type);
}

/* The value of the first line "key : value" of a file in /proc. */
static const char *proc_value(const char *path, const char *key,
			      struct arena *a)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e;
	const char *found = "unknown";
	char *at, *end;

	if (!file_read(path, &b, &e) && (at = strstr(b.p, key)) &&
	    (at = strchr(at, ':'))) {
		at += strspn(at, ": \t");
		end = strchr(at, '\n');
		found = arena_textn(a, at, end ? (size_t)(end - at) : 0);
	}
	buf_fini(&b);
	return found;
}

/* Options of the library that change speed; the rest is noise. */
static const char *sqlite_options(struct arena *a)
{
	static const char *const telling[] = {
		"SECURE_DELETE",     "OMIT_LOOKASIDE", "DEFAULT_SYNCHRONOUS",
		"DEFAULT_PAGE_SIZE", "THREADSAFE",     "DEFAULT_MMAP_SIZE"};
	struct buf b = BUF_MAX(4096);
	const char *text, *option;

	for (int i = 0; (option = sqlite3_compileoption_get(i)); i++)
		for (size_t k = 0; k < sizeof telling / sizeof telling[0]; k++)
			if (!strncmp(option, telling[k], strlen(telling[k])))
				buf_addf(&b, "%s%s", b.n ? " " : "", option);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

void env_read(struct env *env, const char *dir, struct arena *a)
{
	struct utsname u;
	double load[1] = {0};
	int cores = get_nprocs();

	uname(&u);
	if (getloadavg(load, 1) < 1)
		load[0] = 0;
	env->load = load[0] / cores;
	put_variable(env, "skep", SKEP_VERSION);
	put_variable(env, "kernel", arena_text(a, u.release));
	put_variable(env, "cpu", proc_value("/proc/cpuinfo", "model name", a));
	put_variable(env, "cores", arena_printf(a, "%d", cores));
	put_variable(env, "memory", proc_value("/proc/meminfo", "MemTotal", a));
	put_variable(env, "filesystem", filesystem_of(dir, a));
	put_variable(env, "sqlite", sqlite3_libversion());
	put_variable(env, "sqlite_options", sqlite_options(a));
	put_variable(env, "load", arena_printf(a, "%.2f", load[0]));
}

void env_json(const struct env *env, struct buf *out)
{
	json_begin_object(out);
	for (size_t i = 0; i < env->n; i++)
		json_put_text(out, env->items[i].name, env->items[i].value);
	json_end_object(out);
}
