#include "ipc/sp_frame.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#define HEAD      9 /* 0x01 and the length */
#define ID        4
#define LAST_HOP  0x80000000u
#define PROTO_REQ 0x30
#define PROTO_REP 0x31
#define GREETING(p)                        \
	{                                  \
		0, 'S', 'P', 0, 0, p, 0, 0 \
	}

const unsigned char sp_req[SP_GREETING] = GREETING(PROTO_REQ);
const unsigned char sp_rep[SP_GREETING] = GREETING(PROTO_REP);

bool sp_is_rep(const unsigned char greeting[SP_GREETING])
{
	return memcmp(greeting, sp_rep, SP_GREETING) == 0;
}

void sp_put(struct buf *out, uint32_t request, const void *p, size_t n)
{
	uint64_t length = htobe64((uint64_t)n + ID);
	uint32_t id = htonl(request | LAST_HOP);

	buf_addc(out, 1);
	buf_add(out, &length, sizeof length);
	buf_add(out, &id, sizeof id);
	buf_add(out, p, n);
}

int sp_get(const char *p, size_t n, size_t max, struct sp_frame *out,
	   struct err *e)
{
	uint64_t length;
	uint32_t id;

	if (n > 0 && p[0] != 1)
		return err_set(e, ERR_PROTOCOL, "not a frame");
	if (n < HEAD)
		return 0;
	memcpy(&length, p + 1, sizeof length);
	length = be64toh(length);
	if (length < ID || length - ID > max)
		return err_set(e, ERR_PROTOCOL, "a frame of %" PRIu64 " bytes",
			       length);
	if (n - HEAD < length)
		return 0;
	memcpy(&id, p + HEAD, sizeof id);
	id = ntohl(id);
	if (!(id & LAST_HOP))
		return err_set(e, ERR_PROTOCOL, "a forwarded frame");
	*out = (struct sp_frame){
		.request = id & ~LAST_HOP,
		.p = p + HEAD + ID,
		.n = (size_t)length - ID,
		.size = HEAD + (size_t)length,
	};
	return 1;
}
