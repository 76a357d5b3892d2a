#ifndef LIB_SANDBOX_PLAN_H
#define LIB_SANDBOX_PLAN_H

#include "lib/sandbox/namespaces.h"

/* A plan with everything that it points to, in memory that two processes share
 * at the same address. */
#define PLAN_TEXT 65536

struct plan_page {
	struct namespaces_plan plan;
	struct homes homes;
	size_t used;
	char text[PLAN_TEXT];
};

struct plan_page *plan_page_new(void); /* NULL: out of memory */
void plan_page_free(struct plan_page *page);

/* Copies the plan into the page; user and ready of the page are kept. False if
 * it does not fit. */
bool plan_page_put(struct plan_page *page, const struct namespaces_plan *p);

#endif
