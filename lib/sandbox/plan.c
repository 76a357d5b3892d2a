#include "lib/sandbox/plan.h"

#include <string.h>
#include <sys/mman.h>

/* The page faults are taken now, and not when there is a run. */
struct plan_page *plan_page_new(void)
{
	void *at = mmap(NULL, sizeof(struct plan_page), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void plan_page_free(struct plan_page *page)
{
	if (page)
		munmap(page, sizeof *page);
}

/* True with *text in the page, or NULL if it was NULL. */
static bool put_text(struct plan_page *page, const char **text)
{
	size_t n = *text ? strlen(*text) + 1 : 0;

	if (n > sizeof page->text - page->used)
		return false;
	if (n > 0)
		*text = memcpy(page->text + page->used, *text, n);
	page->used += n;
	return true;
}

bool plan_page_put(struct plan_page *page, const struct namespaces_plan *p)
{
	struct namespaces_plan *to = &page->plan;
	struct ready ready = to->ready;
	int user = to->user;
	bool fits;

	*to = *p;
	to->user = user;
	to->ready = ready;
	page->used = 0;
	fits = put_text(page, &to->hidden);
	for (int i = 0; i < to->nvisible; i++)
		fits = fits && put_text(page, &to->visible[i].path);
	if (!p->homes)
		return fits;
	page->homes = *p->homes;
	page->homes.nlinks = 0; /* all paths are real by now */
	to->homes = &page->homes;
	for (int i = 0; i < page->homes.n; i++)
		fits = fits && put_text(page, &page->homes.dir[i]);
	return fits;
}
