#ifndef VFS_CORE_ACL_H
#define VFS_CORE_ACL_H

#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The access ACL of a node, in the format of the extended attribute ACL_ACCESS.
 * The permission bits of the mode and the corresponding entries of the ACL are
 * the same data: setting one sets the other. The group bits are the mask of the
 * ACL if it has one.
 */
#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

/* Reads the permission bits (0 to 0777) from an ACL: returns 1 if it has no
 * other entries, 0 if it has, -1 if it is invalid. */
int acl_bits(struct blob acl, int64_t *bits, struct err *e);

/* Writes the permission bits into a valid ACL of n bytes. */
void acl_set_bits(void *acl, size_t n, int64_t bits);

#endif
