#include "supervisor/api/routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct http_input *find_input(size_t route, enum http_place in,
					   const char *name, size_t n)
{
	for (size_t i = 0; i < api_routes.ninputs; i++) {
		const struct http_input *row = &api_routes.inputs[i];

		if (row->route == route && row->in == in &&
		    strlen(row->name) == n && !memcmp(row->name, name, n))
			return row;
	}
	return NULL;
}

static void every_parameter_of_a_path_is_declared(void **state)
{
	(void)state;
	for (size_t i = 0; i < api_routes.n; i++) {
		const char *p = api_routes.rows[i].path;

		for (; (p = strchr(p, '{')); p++)
			if (!find_input(i, HTTP_IN_PATH, p + 1,
					strcspn(p + 1, "}")))
				fail_msg("%s: %s", api_routes.rows[i].name, p);
	}
}

static void every_declared_input_is_used_once(void **state)
{
	char place[96];

	(void)state;
	for (size_t i = 0; i < api_routes.ninputs; i++) {
		const struct http_input *in = &api_routes.inputs[i];
		const struct http_route *r = &api_routes.rows[in->route];

		snprintf(place, sizeof place, "{%s}", in->name);
		if (in->in == HTTP_IN_PATH && !strstr(r->path, place))
			fail_msg("%s has no %s", r->path, place);
		if (in->in == HTTP_IN_BODY && strcmp(in->name, "*") != 0 &&
		    r->takes && !find_input(in->route, HTTP_IN_BODY, "*", 1) &&
		    !shape_field(r->takes, in->name, strlen(in->name)))
			fail_msg("%s has no member %s", r->name, in->name);
		if (find_input(in->route, in->in, in->name, strlen(in->name)) !=
		    in)
			fail_msg("%s: %s twice", r->name, in->name);
	}
}

static void every_shape_that_a_route_reads_is_declared(void **state)
{
	(void)state;
	for (size_t i = 0; i < api_routes.n; i++) {
		const struct http_route *r = &api_routes.rows[i];
		bool any = false;

		for (size_t k = 0; r->takes && k < r->takes->nfields; k++)
			any |= find_input(i, HTTP_IN_BODY,
					  r->takes->fields[k].name,
					  strlen(r->takes->fields[k].name)) !=
			       NULL;
		if (r->takes && !any)
			fail_msg("%s declares no member", r->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_parameter_of_a_path_is_declared),
		cmocka_unit_test(every_declared_input_is_used_once),
		cmocka_unit_test(every_shape_that_a_route_reads_is_declared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
