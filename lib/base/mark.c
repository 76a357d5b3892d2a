#include "lib/base/mark.h"

#include "lib/base/clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mark_file *mark_file;

static const struct {
	const char *program, *spent;
} marks[MARKS] = {
#define MARK(name, program, spent) [MARK_##name] = {program, spent},
#include "lib/base/marks.def"
#undef MARK
};

const char *mark_program(enum mark m)
{
	return marks[m].program;
}

const char *mark_spent(enum mark m)
{
	return marks[m].spent;
}

void mark_open(void)
{
	const char *path = getenv("SKEP_MARKS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat st;
	void *at = MAP_FAILED;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)MARK_FILE_SIZE)
		at = mmap(NULL, MARK_FILE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		mark_file = at;
}

void mark_add(enum mark m)
{
	uint32_t i = atomic_fetch_add(&mark_file->n, 1);

	if (i < MARK_RECORDS)
		mark_file->record[i] = (struct mark_record){
			.at = clock_mono_ns(),
			.mark = (int32_t)m,
			.pid = (int32_t)getpid(),
		};
}
