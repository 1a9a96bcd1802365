/* SPDX-License-Identifier: Apache-2.0 */
/* session_variable.c - see session_variable.h. The functions may run between vfork and exec. */
#include <stdbool.h>
#include <string.h>

#include "record/session/session_variable.h"
#include "ring/region_layout.h"

#define PREFIX     HL_SESSION_VARIABLE "="
#define PREFIX_LEN (sizeof(PREFIX) - 1)

static char variable[PREFIX_LEN + HL_REGION_SESSION_MAX]; /* "": none */

void hl_session_variable_set(const char *session)
{
	size_t n = 0;

	while (n < HL_REGION_SESSION_MAX && session[n])
		n++;
	if (n == 0 || n == HL_REGION_SESSION_MAX)
		return;
	memcpy(variable + PREFIX_LEN, session, n);
	memcpy(variable, PREFIX, PREFIX_LEN);
}

/* A program with another environment is not recorded. */
static bool has_preload(char *const envp[])
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, "LD_PRELOAD=", 11))
			return true;
	return false;
}

size_t hl_session_variable_env_bytes(char *const envp[])
{
	size_t n = 0;

	if (!variable[0] || !has_preload(envp))
		return 0;
	while (envp[n])
		n++;
	return (n + 2) * sizeof(*envp);
}

char *const *hl_session_variable_env(char *const envp[], void *room)
{
	char **copy = room;
	size_t n = 0;

	if (!hl_session_variable_env_bytes(envp))
		return envp;
	for (; *envp; envp++)
		if (strncmp(*envp, PREFIX, PREFIX_LEN) != 0)
			copy[n++] = *envp;
	copy[n++] = variable;
	copy[n] = NULL;
	return copy;
}
