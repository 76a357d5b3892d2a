#ifndef OPS_IMPORT_IMPORTERS_JSON5_H
#define OPS_IMPORT_IMPORTERS_JSON5_H

#include "lib/json/json.h"

/*
 * JSON5 (https://spec.json5.org) in files of other programs: comments, commas
 * before a closing bracket, single quotes, names without quotes, +1, .5, 1.,
 * 0x1f. It is converted to JSON token by token, keeping the lines, and then
 * parsed by json_parse, so errors have the right line. Infinity and NaN are
 * rejected, because JSON has neither.
 *
 * Valid JSON keeps its meaning.
 */
cJSON *json5_parse_object(const char *what, const char *text, size_t n,
			  struct err *e);

#endif
