#ifndef VFS_CORE_ACL_H
#define VFS_CORE_ACL_H

#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The access ACL of a node, as the extended attribute ACL_ACCESS has it. The
 * permission bits of the mode and the entries of the ACL that stand for them
 * are one thing: who sets one sets the other. The group bits are the mask of
 * the ACL if it has one.
 */
#define ACL_ACCESS "system.posix_acl_access"

/* Reads the permission bits (0 to 0777) out of an ACL: 1 if they are all that
 * it says, 0 if there is more, -1 if it is no valid ACL. */
int acl_bits(struct blob acl, int64_t *bits, struct err *e);

/* Writes the permission bits into a valid ACL of n bytes. */
void acl_set_bits(void *acl, size_t n, int64_t bits);

#endif
