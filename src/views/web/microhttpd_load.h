/* SPDX-License-Identifier: Apache-2.0 */
/*
 * microhttpd_load.h - libmicrohttpd, which is loaded by the command that serves.
 *
 * The collector is the same program: with libmicrohttpd and GnuTLS among its libraries it would
 * take twice as long to start, and need 16 MiB more of an address space that may be limited.
 */
#ifndef HL_VIEWS_WEB_MICROHTTPD_LOAD_H
#define HL_VIEWS_WEB_MICROHTTPD_LOAD_H

#include <microhttpd.h>

#include "views/web/web.h"

#define HL_MICROHTTPD_FUNCTIONS(X)           \
	X(MHD_add_response_header)           \
	X(MHD_create_response_from_buffer)   \
	X(MHD_create_response_from_callback) \
	X(MHD_destroy_response)              \
	X(MHD_get_connection_info)           \
	X(MHD_get_connection_values)         \
	X(MHD_get_connection_values_n)       \
	X(MHD_lookup_connection_value)       \
	X(MHD_queue_response)                \
	X(MHD_start_daemon)                  \
	X(MHD_stop_daemon)

struct hl_microhttpd {
#define X(name) __typeof__(&name) name;
	HL_MICROHTTPD_FUNCTIONS(X)
#undef X
};
extern struct hl_microhttpd hl_microhttpd;

/* Loads the library once; it stays. Call it before any other function of it. Returns 0, or -ENOENT
 * with *why set. */
int hl_microhttpd_load(struct hl_web_failure *why);

#ifndef HL_MICROHTTPD_NAMES
#define MHD_add_response_header           hl_microhttpd.MHD_add_response_header
#define MHD_create_response_from_buffer   hl_microhttpd.MHD_create_response_from_buffer
#define MHD_create_response_from_callback hl_microhttpd.MHD_create_response_from_callback
#define MHD_destroy_response              hl_microhttpd.MHD_destroy_response
#define MHD_get_connection_info           hl_microhttpd.MHD_get_connection_info
#define MHD_get_connection_values         hl_microhttpd.MHD_get_connection_values
#define MHD_get_connection_values_n       hl_microhttpd.MHD_get_connection_values_n
#define MHD_lookup_connection_value       hl_microhttpd.MHD_lookup_connection_value
#define MHD_queue_response                hl_microhttpd.MHD_queue_response
#define MHD_start_daemon                  hl_microhttpd.MHD_start_daemon
#define MHD_stop_daemon                   hl_microhttpd.MHD_stop_daemon
#endif

#endif
