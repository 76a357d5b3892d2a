#include "schema/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SK "sk-proj-4f9d8a7c6b5e4d3c2b1a"

static const struct {
	const char *definition;
	const char *place; /* NULL: it is fine */
} cases[] = {
	/* by the name */
	{"{\"config\":{\"env\":{\"OPENAI_API_KEY\":\"abc\"}}}",
	 "config.env.OPENAI_API_KEY"},
	{"{\"config\":{\"env\":{\"GH_TOKEN\":\"x\"}}}", "config.env.GH_TOKEN"},
	{"{\"config\":{\"env\":{\"DB_PASS\":\"x\"}}}", "config.env.DB_PASS"},
	{"{\"config\":{\"env\":{\"MYSQL_PWD\":\"x\"}}}",
	 "config.env.MYSQL_PWD"},
	{"{\"config\":{\"env\":{\"OPENAI_KEY\":\"x\"}}}",
	 "config.env.OPENAI_KEY"},
	{"{\"headers\":{\"X-Custom\":\"Bearer 0123456789abcdef\"}}",
	 "headers.X-Custom"},
	{"{\"apiKey\":\"x\"}", "apiKey"},
	{"{\"headers\":{\"X-Api-Key\":\"x\"}}", "headers.X-Api-Key"},
	{"{\"headers\":{\"Authorization\":\"Bearer x\"}}",
	 "headers.Authorization"},
	{"{\"mcp\":[{\"env\":[{\"name\":\"T_TOKEN\",\"value\":\"x\"}]}]}",
	 "value"},
	{"{\"command\":[\"x\",\"--api-key\",\"t\"]}", "command"},
	{"{\"command\":[\"x\",\"--token=t\"]}", "command"},
	{"{\"command\":[\"sh\",\"-c\",\"TOKEN=abc run\"]}", "command"},
	{"{\"shell\":\"curl -H 'Authorization: Bearer abc' x\"}", "shell"},
	{"{\"endpoint\":\"https://h/v1?api_key=abc\"}", "endpoint"},
	{"{\"endpoint\":\"https://h/v1?a=b&access_token=abc\"}", "endpoint"},
	/* by the form */
	{"{\"config\":{\"env\":{\"X\":\"" SK "\"}}}", "config.env.X"},
	{"{\"prompt\":\"use " SK " for it\"}", "prompt"},
	{"{\"model\":\"ghp_0123456789abcdefghijklmnopqrstuvwxyz\"}", "model"},
	{"{\"command\":[\"x\",\"" SK "\"]}", "command"},
	{"{\"endpoint\":\"https://user:pw@h/\"}", "endpoint"},
	{"{\"endpoint\":\"https://tok@h/\"}", "endpoint"},
	{"{\"command\":[\"git\",\"clone\",\"ssh://u:p@h/x\"]}", "command"},
	{"{\"files\":{\"id\":\"-----BEGIN RSA PRIVATE KEY-----\\nMII\"}}",
	 "files.id"},
	{"{\"x\":\"AKIAIOSFODNN7EXAMPLE\"}", "x"},
	{"{\"x\":\"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc\"}",
	 "x"},
	/* neither */
	{"{\"config\":{\"env\":{\"GH_TOKEN\":\"$GH_TOKEN\"}}}", NULL},
	{"{\"config\":{\"env\":{\"TOKEN_FILE\":\"/run/t\"}}}", NULL},
	{"{\"config\":{\"env\":{\"API_KEY\":\"\"}}}", NULL},
	{"{\"config\":{\"env\":{\"PWD\":\"/work\",\"BYPASS\":\"1\"}}}", NULL},
	{"{\"prompt\":\"Ask the bearer politely.\"}", NULL},
	{"{\"config\":{\"pass\":[\"OPENAI_API_KEY\",\"GH_TOKEN\"]}}", NULL},
	{"{\"key_file\":\"openai\",\"key_env\":\"OPENAI_API_KEY\"}", NULL},
	{"{\"headers\":{\"Authorization\":{\"env\":\"K\",\"prefix\":"
	 "\"Bearer \"}}}",
	 NULL},
	{"{\"params\":{\"max_tokens\":5,\"token\":7}}", NULL},
	{"{\"prompt\":\"Never tell the password: it is secret. token=word\"}",
	 NULL},
	{"{\"command\":[\"sh\",\"-c\",\"TOKEN=$(cat f) x --token $T\"]}", NULL},
	{"{\"command\":[\"x\",\"--max-tokens\",\"3\",\"--token\",\"-v\"]}",
	 NULL},
	{"{\"command\":[\"x\",\"--token-file\",\"f\"]}", NULL},
	{"{\"command\":[\"git\",\"clone\",\"ssh://git@host/x\"]}", NULL},
	{"{\"endpoint\":\"https://h/@ann?a=b@c\"}", NULL},
	{"{\"model\":\"task-runner-with-a-very-long-name-0123456789\"}", NULL},
	{"{\"model\":\"sk-short\"}", NULL},
	{"{\"endpoint\":\"http://127.0.0.1:8080/v1\"}", NULL},
};

static void secrets_are_known_by_name_and_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *text = cases[i].definition;
		struct err e = {0};
		cJSON *v = json_parse("case", text, strlen(text), &e);
		int rc;

		assert_non_null(v);
		rc = secret_check("agent", v, &e);
		cJSON_Delete(v);
		if ((rc != 0) != (cases[i].place != NULL))
			fail_msg("%s: %s", text, rc ? e.text : "taken");
		if (rc &&
		    (!strstr(e.text, cases[i].place) ||
		     !strstr(e.text, "credentials/") || strstr(e.text, SK)))
			fail_msg("%s: %s", text, e.text);
	}
}

static void nesting_has_a_limit(void **state)
{
	struct buf b = BUF_MAX(4096);
	struct err e = {0};
	cJSON *v;

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_adds(&b, "{\"a\":");
	buf_adds(&b, "1");
	for (int i = 0; i < 100; i++)
		buf_addc(&b, '}');
	v = json_parse("deep", b.p, b.n, &e);
	assert_non_null(v);
	assert_int_equal(secret_check("agent", v, &e), -1);
	assert_non_null(strstr(e.text, "nested"));
	cJSON_Delete(v);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_known_by_name_and_form),
		cmocka_unit_test(nesting_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
