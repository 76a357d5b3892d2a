#ifndef OPS_MIGRATE_IMPORTERS_JSON5_H
#define OPS_MIGRATE_IMPORTERS_JSON5_H

#include "lib/json/json.h"

/*
 * JSON as people write it by hand (https://spec.json5.org), in files of other
 * programs: comments, commas before a closing bracket, single quotes, names
 * without quotes, +1, .5, 1., 0x1f. It is turned into JSON word by word, line by
 * line, and json_parse decides: so what is wrong is told with its line.
 * Infinity and NaN are refused, as JSON has none.
 *
 * What is JSON already means the same here.
 */
cJSON *json5_parse_object(const char *what, const char *text, size_t n,
			  struct err *e);

#endif
