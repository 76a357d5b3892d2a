#include "vfs/core/acl.h"

#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <string.h>

/* linux/posix_acl.h is not for programs. */
enum {
	TAG_USER_OBJ = 1,
	TAG_USER = 2,
	TAG_GROUP_OBJ = 4,
	TAG_GROUP = 8,
	TAG_MASK = 16,
	TAG_OTHER = 32
};

#define HEAD  sizeof(struct posix_acl_xattr_header)
#define ENTRY sizeof(struct posix_acl_xattr_entry)

/* Numbers in the attribute are little-endian and not aligned. */
static unsigned get_u16(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static unsigned tag_of(const uint8_t *entry)
{
	return get_u16(entry);
}

static unsigned perm_of(const uint8_t *entry)
{
	return get_u16(entry + 2);
}

static bool has_version(const uint8_t *p)
{
	return get_u16(p) == POSIX_ACL_XATTR_VERSION && get_u16(p + 2) == 0;
}

/* The entry that corresponds to the group bits: the mask, or the owning
 * group. */
static const uint8_t *group_entry(const uint8_t *p, size_t n)
{
	const uint8_t *group = NULL;

	for (size_t at = HEAD; at < n; at += ENTRY) {
		if (tag_of(p + at) == TAG_MASK)
			return p + at;
		if (tag_of(p + at) == TAG_GROUP_OBJ)
			group = p + at;
	}
	return group;
}

int acl_bits(struct blob acl, int64_t *bits, struct err *e)
{
	const unsigned needed = TAG_USER_OBJ | TAG_GROUP_OBJ | TAG_OTHER;
	const uint8_t *p = acl.p;
	unsigned seen = 0, perms = 0;
	bool good = acl.n >= HEAD && (acl.n - HEAD) % ENTRY == 0 &&
		    has_version(p);

	for (size_t at = HEAD; good && at < acl.n; at += ENTRY) {
		unsigned tag = tag_of(p + at), perm = perm_of(p + at);

		good = perm <= 7 && tag <= TAG_OTHER && tag &&
		       !(tag & (tag - 1));
		seen |= tag;
		if (tag == TAG_USER_OBJ)
			perms |= perm << 6;
		else if (tag == TAG_OTHER)
			perms |= perm;
	}
	if (!good || (seen & needed) != needed)
		return err_set(e, ERR_USAGE, "not a valid access ACL");
	*bits = perms | perm_of(group_entry(p, acl.n)) << 3;
	return seen == needed;
}

void acl_set_bits(void *acl, size_t n, int64_t bits)
{
	const uint8_t *group = group_entry(acl, n);
	uint8_t *p = acl;

	for (size_t at = HEAD; at < n; at += ENTRY) {
		unsigned tag = tag_of(p + at);

		if (tag == TAG_USER_OBJ)
			p[at + 2] = bits >> 6 & 7;
		else if (tag == TAG_OTHER)
			p[at + 2] = bits & 7;
		else if (p + at == group)
			p[at + 2] = bits >> 3 & 7;
	}
}
