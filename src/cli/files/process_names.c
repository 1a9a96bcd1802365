/* SPDX-License-Identifier: Apache-2.0 */
/* process_names.c - see process_names.h. */
#include "cli/files/process_names.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collect/output/trace_output.h"
#include "util/string_table.h"

bool hl_process_names_differ(const char *pattern)
{
	return hl_trace_output_names_differ(pattern);
}

void hl_process_names_free(char **names, const struct hl_session_choice *c)
{
	for (int i = 0; names && i < c->n; i++)
		free(names[i]);
	free(names);
}

static int print_error(const char *pattern, const char *name, int err)
{
	if (err == -EINVAL)
		return hl_cli_usage("-o \"%s\" is not a valid name: only p, e, t, n, h or %% may "
				    "follow %%, as in \"%%e-%%p.svg\"",
			pattern);
	if (err == -EEXIST)
		return hl_cli_usage("-o %s: two processes would be written to %s; add %%p, the pid",
			pattern, name);
	hl_cli_error("-o %s: %s", pattern, strerror(-err));
	return HL_EXIT_IO;
}

/* Number i of the choice is process i of the session. */
static int make_name(char name[PATH_MAX], const char *pattern, const struct hl_session_choice *c,
	int i, struct hl_string_table *known)
{
	const struct hl_session_file *f = hl_session_largest(c->session, (size_t)i);
	int err = hl_trace_output_name(
		name, PATH_MAX, pattern, f->program, f->pid, f->start_unix_ns, (uint32_t)i + 1);
	uint32_t id;

	if (!err && hl_string_table_find(known, name, &id))
		err = -EEXIST;
	return err ? err : hl_string_table_add(known, name, &id);
}

int hl_process_names_make(char ***names, const char *pattern, const struct hl_session_choice *c)
{
	char **made = calloc((size_t)c->n + 1, sizeof(*made)), name[PATH_MAX] = "";
	struct hl_string_table known = {0};
	int err = made ? 0 : -ENOMEM, status = 0;

	for (int i = 0; i < c->n && !err; i++) {
		err = make_name(name, pattern, c, i, &known);
		made[i] = err ? NULL : strdup(name);
		err = err || made[i] ? err : -ENOMEM;
	}
	hl_string_table_fini(&known);
	if (err) {
		status = print_error(pattern, name, err);
		hl_process_names_free(made, c);
		made = NULL;
	}
	*names = made;
	return status;
}
