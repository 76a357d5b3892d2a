#ifndef WORKER_DRIVER_CHAT_PROBE_H
#define WORKER_DRIVER_CHAT_PROBE_H

/*
 * 'skep agent test' for the driver chat: reads the settings, including the key,
 * and connects to the endpoint. No request is sent, so no model is used. Input
 * and output are those of worker/driver/acp/probe.h, with "model". Returns an
 * exit status.
 */
int chat_try(const char *timeout_ms);

#endif
