#include "ops/backup/archive_job.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"

int archive_begin(struct archive_job *j, const struct archive_target *to,
		  struct err *e)
{
	struct home_path dir = home_path(to->home, HOME_BACKUPS);
	struct manifest_head head = {.format = MANIFEST_FORMAT,
				     .id = to->id,
				     .program = SKEP_VERSION,
				     .home = to->home->root,
				     .created_at = clock_now(),
				     .with_workspaces = to->with_workspaces};

	buf_init(&j->manifest, MANIFEST_MAX);
	manifest_begin(&j->manifest, &head);
	return file_make_dir(dir.text, 0700, e) ||
			       staging_dir_open(&j->work, dir.text, ".work",
						to->id, e) ||
			       pack_new(&j->pack, to->fd, to->name, to->zstd, e)
		       ? -1
		       : 0;
}

int archive_end(struct archive_job *j, struct pack_sum *sum, struct err *e)
{
	manifest_end(&j->manifest);
	return buf_ok(&j->manifest, "the manifest", e) ||
			       pack_bytes(j->pack, MANIFEST_PATH, j->manifest.p,
					  j->manifest.n, sum, e) ||
			       pack_end(j->pack, sum, e)
		       ? -1
		       : 0;
}

void archive_free(struct archive_job *j)
{
	pack_free(j->pack);
	staging_dir_close(&j->work);
	buf_fini(&j->manifest);
}
