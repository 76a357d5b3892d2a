#ifndef LIB_HTTP_CURL_SOCKET_H
#define LIB_HTTP_CURL_SOCKET_H

#include <curl/curl.h>
#include <uv.h>

/*
 * The sockets of a multi handle on a loop. libcurl stops watching a socket
 * after each transfer and requests it again for the next one; here it stays
 * watched until it is closed, which saves two system calls per message.
 *
 * curl_multi_poll in the thread would need neither this nor a loop. It was
 * tried with libcurl 7.88: 64 webhooks at once gave 9,400 to 10,100 deliveries
 * per second instead of 13,400 to 15,100, and 7,500 to 9,100 instead of 13,600
 * to 23,600 beside a receiver that never responds. curl_multi_perform visits
 * every transfer in every turn, and every poll builds the list of sockets
 * again.
 */
struct curl_sockets;

struct curl_sockets *curl_sockets_new(CURLM *multi, uv_loop_t *loop);

/* Before the transfer starts: its connections are opened and closed here. */
void curl_sockets_use(struct curl_sockets *s, CURL *easy);

/* Closes the connection of a transfer. */
void curl_sockets_cut(struct curl_sockets *s, const CURL *easy);

/* Call it after curl_multi_cleanup; it is freed when its handles are closed. */
void curl_sockets_close(struct curl_sockets *s);

#endif
