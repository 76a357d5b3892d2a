#include "cli/init/local_models.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define WAIT_MS    500
#define ANSWER_MAX (1u << 20)

static const struct known {
	int port;
	const char *server;
} known[] = {
#define PROVIDER(name, endpoint, model, variable)
#define LOCAL_MODEL(port, server) {port, server},
#include "cli/init/endpoints.def"
#undef PROVIDER
#undef LOCAL_MODEL
};

/* Not lib/http/client.h: a server that accepts and never answers must not hold
 * up the command. */
static int open_port(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct timeval limit = {.tv_usec = WAIT_MS * 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (const struct sockaddr *)&to, sizeof to)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* HTTP/1.0: the answer ends with the connection, without chunks. */
static int get_models(int port, struct buf *answer)
{
	static const char request[] =
		"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1\r\n"
		"Accept: application/json\r\n\r\n";
	struct err ignored; /* a server that does not answer is no server */
	int fd = open_port(port), rc = -1;

	if (fd < 0)
		return -1;
	if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0)
		rc = file_read_fd(fd, "models", answer, &ignored);
	close(fd);
	return rc;
}

/* The id of the first model, or NULL. */
static const char *first_model(const struct buf *answer, struct arena *a)
{
	const char *body = answer->p ? strstr(answer->p, "\r\n\r\n") : NULL;
	const char *id = NULL;
	struct err ignored;
	cJSON *all = body ? json_parse("models", body + 4, strlen(body + 4),
				       &ignored)
			  : NULL;

	if (all && !strncmp(answer->p, "HTTP/1.", 7) &&
	    !strncmp(answer->p + 8, " 200", 4))
		id = json_text(cJSON_GetArrayItem(json_member(all, "data"), 0),
			       "id", NULL);
	id = arena_text(a, id);
	cJSON_Delete(all);
	return id;
}

static bool ask_port(int port, const char *server, struct local_model *out,
		     struct arena *a)
{
	struct buf answer = BUF_MAX(ANSWER_MAX);

	*out = (struct local_model){.server = server};
	if (get_models(port, &answer) == 0)
		out->model = first_model(&answer, a);
	out->endpoint = arena_printf(a, "http://127.0.0.1:%d/v1", port);
	buf_fini(&answer);
	return out->model != NULL;
}

int local_models_find(struct local_model out[LOCAL_MODELS_MAX], struct arena *a)
{
	const char *ports = getenv("SKEP_INIT_PORTS");
	int n = 0;

	for (size_t i = 0; !ports && i < sizeof known / sizeof *known; i++)
		if (n < LOCAL_MODELS_MAX &&
		    ask_port(known[i].port, known[i].server, &out[n], a))
			n++;
	while (ports && *ports && n < LOCAL_MODELS_MAX) {
		char *end;
		long port = strtol(ports, &end, 10);

		if (end == ports || port < 1 || port > 65535)
			break;
		if (ask_port((int)port, "a local server", &out[n], a))
			n++;
		ports = end + strspn(end, " ,");
	}
	return n;
}
