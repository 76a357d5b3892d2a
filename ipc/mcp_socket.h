#ifndef IPC_MCP_SOCKET_H
#define IPC_MCP_SOCKET_H

/*
 * The socket on which a worker serves the MCP servers of its agent. It is in
 * the directory of the agent's file and named after the worker's PID.
 */
#define ASK_SOCKET      "mcp-%d.sock"
#define ASK_SOCKET_SIZE 32

/* Deletes the sockets of dead workers, also those of ipc/run_socket.h. */
void ask_socket_remove_stale(const char *dir);

#endif
