/* skep-worker-chat: a worker with the driver chat, and the libraries for it. */
#include "ipc/start_message.h"
#include "worker/driver/chat/probe.h"
#include "worker/driver/driver.h"
#include "worker/run/attempt.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern const struct driver driver_chat;

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--try") == 0)
		return chat_try(argv[2]);
	if (argc > 1 || isatty(START_FD)) {
		fprintf(stderr, "skep-worker-chat is started by skepd, with a "
				"message on its standard input\n");
		return 64;
	}
	/* It has a key in its memory. A size of 1 also disables programs to
	 * which the kernel would pipe the core. */
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
	driver_link(&driver_chat);
	return worker_main(START_FD, -1, NULL);
}
