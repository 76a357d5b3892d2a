#ifndef SCHEMA_AGENT_VFS_ID_H
#define SCHEMA_AGENT_VFS_ID_H

#include <stdint.h>

/*
 * The numbers of nodes. An id is (namespace << 40) | ino.
 *
 * In a namespace with a lower directory, nodes that come from that directory have
 * numbers below INO_OWN, and the others numbers from it on. So a directory that
 * is read after a snapshot was taken is a part of the snapshot: its nodes are
 * older, by their number, than everything that the namespace creates.
 */
#define NS_SHIFT 40
#define INO_MASK ((INT64_C(1) << NS_SHIFT) - 1)
#define INO_OWN  (INT64_C(1) << 39)

#endif
