/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - which requests are answered.
 *
 * A page of another site must not read a trace through the user's browser, so the names in Host and
 * Origin are checked: the name of an attacker's site may resolve to 127.0.0.1. Other users of the
 * machine do not have the token.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "views/web/web_internal.h"

int hl_web_access_init(struct hl_web_access *a, const struct hl_web_options *o, uint16_t port)
{
	unsigned char raw[16];

	*a = (struct hl_web_access){.hosts = o->hosts, .n_hosts = o->n_hosts};
	/* Cookies of a host are shared by all of its ports. */
	snprintf(a->cookie, sizeof(a->cookie), "heaplapse-%u", (unsigned)port);
	if (o->no_token)
		return 0;
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(a->token + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

/* An IP address in Host is safe: no other site can be called by it. */
static bool is_address(const char *name, size_t len)
{
	char text[INET6_ADDRSTRLEN];
	unsigned char raw[16];
	bool bracketed = len > 2 && name[0] == '[' && name[len - 1] == ']';

	if (bracketed) {
		name++;
		len -= 2;
	}
	if (len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	return inet_pton(bracketed ? AF_INET6 : AF_INET, text, raw) == 1;
}

static bool is_name(const char *host, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(host, name, len) == 0;
}

/* Returns the length of the name in "name:port"; 0: it is malformed. */
static size_t name_length(const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
	size_t len = end ? (size_t)(end - host) + 1 : strcspn(host, ":");
	const char *port = host + len;

	if (*port == ':' && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1))
		return len;
	return *port ? 0 : len;
}

bool hl_web_access_host(const struct hl_web_access *a, const char *host)
{
	size_t len = host ? name_length(host) : 0;

	if (len == 0)
		return false;
	if (is_address(host, len) || is_name(host, len, "localhost"))
		return true;
	for (size_t i = 0; i < a->n_hosts; i++) {
		if (is_name(host, len, a->hosts[i]))
			return true;
	}
	return false;
}

bool hl_web_access_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	if (!origin)
		return true;
	return strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
	       strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}

bool hl_web_access_control(const char *authorization, const char *origin)
{
	return authorization || origin;
}

/* The time does not depend on where they differ. */
static bool equals_token(const struct hl_web_access *a, const char *given, size_t len)
{
	size_t want = strlen(a->token);
	unsigned differ = 0;

	if (len != want)
		return false;
	for (size_t i = 0; i < want; i++)
		differ |= (unsigned char)(given[i] ^ a->token[i]);
	return differ == 0;
}

/* "a=1; heaplapse-7777=TOKEN" */
static bool has_cookie(const struct hl_web_access *a, const char *cookies)
{
	size_t name = strlen(a->cookie);

	while (cookies && *cookies) {
		size_t len;

		cookies += strspn(cookies, " ;");
		len = strcspn(cookies, ";");
		if (len > name && strncmp(cookies, a->cookie, name) == 0 && cookies[name] == '=' &&
			equals_token(a, cookies + name + 1, len - name - 1))
			return true;
		cookies += len;
	}
	return false;
}

enum hl_web_grant hl_web_access_check(const struct hl_web_access *a, const char *authorization,
	const char *cookie, const char *token)
{
	static const char scheme[] = "Bearer ";
	size_t len = sizeof(scheme) - 1;

	if (!a->token[0])
		return HL_WEB_GRANTED;
	if (authorization && strncasecmp(authorization, scheme, len) == 0 &&
		equals_token(a, authorization + len, strlen(authorization + len)))
		return HL_WEB_GRANTED;
	if (token && equals_token(a, token, strlen(token)))
		return HL_WEB_GRANTED_BY_URL;
	return has_cookie(a, cookie) ? HL_WEB_GRANTED : HL_WEB_REFUSED;
}

/* --- addresses --- */

bool hl_web_address_parse(const char *text, union hl_web_address *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		*len = sizeof(a->v4);
		return true;
	}
	a->v6.sin6_family = AF_INET6;
	*len = sizeof(a->v6);
	return inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1;
}

bool hl_web_is_loopback(const char *address)
{
	union hl_web_address a;
	socklen_t len;

	if (!address)
		return true;
	if (!hl_web_address_parse(address, &a, &len))
		return false;
	return a.any.sa_family == AF_INET ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}
