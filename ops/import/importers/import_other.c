/* JSON files, recognized by their path, and files that are imported
 * unchanged. */
#include "ops/import/importer.h"

#include "lib/base/hash.h"
#include "lib/os/file.h"
#include "ops/import/ignored.h"

#include <fnmatch.h>
#include <string.h>

void import_add_file(struct import_run *m, const char *path)
{
	struct import_file *f = m->file;
	struct source_stamp more;
	struct err ignored;
	char both[2 * HASH_HEX];

	if (f->nwith == sizeof f->with / sizeof f->with[0] ||
	    source_stamp(path, &more, &ignored))
		return;
	f->with[f->nwith++] = arena_text(&m->arena, path);
	f->mark.bytes += more.bytes;
	if (more.mtime_ns > f->mark.mtime_ns)
		f->mark.mtime_ns = more.mtime_ns;
	memcpy(both, f->mark.sha256, HASH_HEX);
	memcpy(both + HASH_HEX, more.sha256, HASH_HEX);
	hash_of(both, sizeof both, f->mark.sha256);
}

typedef int json_fn(struct import_run *m, struct err *e);

int import_json(struct import_run *m, struct err *e)
{
	static json_fn *const all[] = {
		import_openclaw_index, import_openclaw_config,
		import_hiro_character, import_lion_branch, import_lion_team};
	int got = 0;

	for (size_t i = 0; got == 0 && i < sizeof all / sizeof all[0]; i++)
		got = all[i](m, e);
	m->file->claimed = got != 0;
	return got < 0 ? -1 : 0;
}

/* Secrets, and their names in credentials/. */
static const struct {
	const char *pattern, *name;
	int above; /* directory that becomes part of the name, or -1 */
} secrets[] = {
	{"*/agents/*/agent/auth-profiles.json",
	 "openclaw-%s-auth-profiles.json", 1},
	{"*/credentials/oauth.json", "openclaw-oauth.json", -1},
	{"*/master_key.pem", "hiro-master-key.pem", -1},
	{"*/auth.json", "grida-auth.json", -1},
};

static int import_secret(struct import_run *m, struct err *e)
{
	const char *path = path_below(m);

	for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
		const char *name = secrets[i].name;
		const char *who = strstr(name, "%s");

		if (fnmatch(secrets[i].pattern, path, 0) != 0)
			continue;
		if (who)
			name = arena_printf(
				&m->arena, "%.*s%s%s", (int)(who - name), name,
				path_above(&m->arena, path, secrets[i].above),
				who + 2);
		return import_credential(m, name, e) ? -1 : 1;
	}
	return 0;
}

/* Files that agents made or received. `below` is where their name begins. */
static const struct {
	const char *pattern, *importer, *below, *kind;
	int agent; /* directory that names the agent, or -1 */
} bytes[] = {
	{"*/data/media/*", "hiro", "/data/media/", "media", -1},
	{"*/data/channel_photos/*", "hiro", "/data/channel_photos/",
	 "channel-photo", -1},
	{"*/characters/*/photo.*", "hiro", "/characters/", "photo", 0},
	{"*/runs/*/artifacts/*", "lion", "/runs/", "run", -1},
};

static int import_bytes(struct import_run *m, struct err *e)
{
	const char *path = path_below(m);

	for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
		const char *at = strstr(path, bytes[i].below);

		if (!at || fnmatch(bytes[i].pattern, path, 0) != 0)
			continue;
		return import_artifact(
			       m, bytes[i].importer,
			       bytes[i].agent < 0 ? NULL
						  : path_above(&m->arena, path,
							       bytes[i].agent),
			       bytes[i].kind, at + strlen(bytes[i].below), e)
			       ? -1
			       : 1;
	}
	return 0;
}

/* The manifest of a run is imported with each of its branches. */
static bool is_manifest(struct import_run *m)
{
	return path_ends(m->file->path, "/run.json") &&
	       file_exists(arena_printf(&m->arena, "%s/branches",
					path_dir(&m->arena, m->file->path, 0)));
}

int import_other(struct import_run *m, struct err *e)
{
	const char *why;
	int got = import_secret(m, e);

	if (!got)
		got = import_bytes(m, e);
	if (got) {
		m->file->claimed = true;
		return got < 0 ? -1 : 0;
	}
	why = is_manifest(m) ? "a run's facts; they go with its branches"
			     : ignored_file_reason(path_below(m));
	import_unknown(m, NULL, 0, why ? why : "no importer knows this file");
	return 0;
}
