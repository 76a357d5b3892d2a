#ifndef CLI_INIT_LOCAL_MODELS_H
#define CLI_INIT_LOCAL_MODELS_H

#include "lib/base/arena.h"

/* A server of models on this machine. Texts are in the arena. */
struct local_model {
	const char *server;   /* "Ollama" */
	const char *endpoint; /* "http://127.0.0.1:11434/v1" */
	const char *model;    /* the first one that it lists */
};

#define LOCAL_MODELS_MAX 8

/* Asks the usual ports of this machine (endpoints.def), or those in
 * SKEP_INIT_PORTS, for their models: GET /v1/models, at most half a second
 * each. Returns the number of servers that answered with a model. */
int local_models_find(struct local_model out[LOCAL_MODELS_MAX],
		      struct arena *a);

#endif
