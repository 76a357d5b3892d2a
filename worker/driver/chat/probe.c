#include "worker/driver/chat/probe.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "worker/driver/chat/config.h"
#include "worker/driver/probe.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX (1u << 20)

/* With TLS, if the endpoint uses it. */
static int connect_to(const char *url, int64_t ms)
{
	char why[CURL_ERROR_SIZE] = "", detail[CURL_ERROR_SIZE + 200];
	CURL *h = curl_easy_init();
	CURLcode rc;

	if (!h)
		return probe_report("endpoint", false, "out of memory");
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)ms);
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, why);
	rc = curl_easy_perform(h);
	curl_easy_cleanup(h);
	text_printf(detail, sizeof detail, rc ? "%s: %s" : "connected to %s",
		    url, *why ? why : curl_easy_strerror(rc));
	return probe_report("endpoint", rc == CURLE_OK, detail);
}

static int try_config(const cJSON *input, int64_t ms)
{
	struct buf text = BUF_MAX(INPUT_MAX);
	struct msg_start s = {.run = "run_test",
			      .attempt = 1,
			      .agent = "test",
			      .session = "test",
			      .model = json_text(input, "model", NULL),
			      .home = json_text(input, "home", NULL)};
	struct arena a = {0};
	struct chat_config c;
	struct err e;
	int rc;

	json_add(&text, cJSON_GetObjectItemCaseSensitive(input, "config"));
	s.config = text.n ? text.p : "{}";
	rc = chat_config_read(&c, &s, &a, &e);
	if (rc)
		rc = probe_report("settings", false, e.text);
	else if (probe_report("settings", true, c.model) ||
		 connect_to(c.url, ms))
		rc = -1;
	chat_config_clear(&c);
	arena_fini(&a);
	buf_fini(&text);
	return rc;
}

int chat_try(const char *timeout_ms)
{
	struct buf text = BUF_MAX(INPUT_MAX);
	struct err e = {0};
	cJSON *input = NULL;
	int64_t ms;
	int rc;

	if (text_i64("the timeout", timeout_ms, 1, INT32_MAX, &ms, &e))
		return err_exit_status(e.code);
	if (file_read_fd(STDIN_FILENO, "the settings", &text, &e) == 0)
		input = json_parse_object("the settings", text.p, text.n, &e);
	rc = input ? try_config(input, ms)
		   : probe_report("settings", false, e.text);
	cJSON_Delete(input);
	buf_fini(&text);
	return rc ? err_exit_status(ERR_UNAVAILABLE) : 0;
}
