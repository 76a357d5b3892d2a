#ifndef SCHEMA_PRICE_H
#define SCHEMA_PRICE_H

#include "lib/base/err.h"

/*
 * Prices of models: the file prices.json of the home, which users write:
 *
 *   {"gpt-5": {"input": 1.25, "cached": 0.125, "output": 10},
 *    "claude-*": {"input": 3, "output": 15}}
 *
 * Prices are dollars per million tokens. The exact name of a model comes first,
 * then the longest prefix with a star.
 */
struct model_price {
	double input, cached, output; /* 0: unknown */
};

/* Finds the price of a model: 1, 0 if the file or the model is missing, or -1
 * with ERR_INVALID if the file is wrong. model NULL: only checks the file. */
int price_find(const char *home, const char *model, struct model_price *out,
	       struct err *e);

#endif
