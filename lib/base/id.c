#include "lib/base/id.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const char *const prefixes[ID_KINDS] = {

#define ID(name, prefix) [ID_##name] = prefix,
#include "lib/base/id.def"
#undef ID
};

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void id_random(void *out, unsigned n)
{
	char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno != EINTR)
			abort(); /* does not happen on any supported kernel */
		if (got > 0) {
			p += got;
			n -= (unsigned)got;
		}
	}
}

/* A system call for random bytes costs more than the rest of an id, so they are
 * fetched in batches. Each thread has its own batch. A forked process starts
 * with an empty one; otherwise it would produce the same ids. */
#define NOISE_AT_ONCE 32

static uint64_t next_noise(void)
{
	static _Thread_local struct {
		uint64_t noise[NOISE_AT_ONCE];
		int left;
		pid_t owner;
	} pool;
	pid_t self = getpid();

	if (pool.left == 0 || pool.owner != self) {
		id_random(pool.noise, sizeof pool.noise);
		pool.left = NOISE_AT_ONCE;
		pool.owner = self;
	}
	return pool.noise[--pool.left];
}

/* Nanoseconds, strictly increasing within a process. */
static uint64_t next_tick(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t last;
	uint64_t now = (uint64_t)clock_now_ns(), tick;

	pthread_mutex_lock(&lock);
	last = tick = now > last ? now : last + 1;
	pthread_mutex_unlock(&lock);
	return tick;
}

/* Writes the low `bits` (a multiple of 5) of v, high digit first. */
static void put_digits(char *out, uint64_t v, int bits)
{
	for (int shift = bits - 5; shift >= 0; shift -= 5)
		*out++ = digits[(v >> shift) & 31];
}

/*
 * 26 digits have 130 bits. The first 14 (70 bits) contain the 68 bits of time,
 * the last 12 (60 bits) the random ones.
 */
struct id id_new(enum id_kind kind)
{
	uint64_t tick = next_tick();
	uint64_t ms = tick / 1000000, ns = tick % 1000000;
	struct id id;

	memcpy(id.text, prefixes[kind], 3);
	id.text[3] = '_';
	put_digits(id.text + 4, ms, 50);
	put_digits(id.text + 14, ns, 20);
	put_digits(id.text + 18, next_noise(), 60);
	id.text[ID_SIZE - 1] = '\0';
	return id;
}

struct id id_at(enum id_kind kind, int64_t ms)
{
	struct id id;

	memcpy(id.text, prefixes[kind], 3);
	id.text[3] = '_';
	memset(id.text + 4, digits[0], ID_BODY);
	put_digits(id.text + 4, ms > 0 ? (uint64_t)ms : 0, 50);
	id.text[ID_SIZE - 1] = '\0';
	return id;
}

bool id_is(enum id_kind kind, const char *text)
{
	const char *body = text + 4;

	return strlen(text) == ID_SIZE - 1 && text[3] == '_' &&
	       !strncmp(text, prefixes[kind], 3) &&
	       strspn(body, digits) == ID_BODY;
}

int64_t id_time(const char *text)
{
	int64_t ms = 0;

	if (strlen(text) != ID_SIZE - 1 || text[3] != '_' ||
	    strspn(text + 4, digits) != ID_BODY)
		return -1;
	for (int i = 4; i < 14; i++)
		ms = ms * 32 + (strchr(digits, text[i]) - digits);
	return ms;
}

const char *id_prefix(enum id_kind kind)
{
	return prefixes[kind];
}
