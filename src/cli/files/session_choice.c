/* SPDX-License-Identifier: Apache-2.0 */
/* session_choice.c - see session_choice.h. */
#include "cli/files/session_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/code_name/code_name.h"
#include "util/names/suggest.h"
#include "util/safe_text.h"
#include "util/strbuf.h"
#include "util/terminal/shell_word.h"

#define SHOWN_MAX 10   /* processes in a message */
#define REST_MAX  2000 /* traces that are opened for the line about the rest */

void hl_session_choice_fini(struct hl_session_choice *c)
{
	hl_session_list_free(c->session);
	free(c->one[0]);
	free(c->all);
	*c = (struct hl_session_choice){0};
}

static int out_of_memory(void)
{
	hl_cli_error("%s", strerror(ENOMEM));
	return HL_EXIT_IO;
}

static int print_unreadable(const char *path, int err)
{
	if (err == -EFBIG)
		hl_cli_error("%s: the session has more than %u traces; name some of them", path,
			HL_SESSION_FILES_MAX);
	else
		hl_cli_error("%s: %s", path, strerror(-err));
	return HL_EXIT_IO;
}

static int choose_file(struct hl_session_choice *c, size_t file)
{
	char *path = strdup(c->session->files.data[file].path);

	free(c->one[0]);
	c->one[0] = path;
	c->files = c->one;
	c->n = 1;
	return c->one[0] ? 0 : out_of_memory();
}

static int choose_all(struct hl_session_choice *c)
{
	const struct hl_session_list *s = c->session;

	c->all = calloc(s->processes.len + 1, sizeof(*c->all));
	if (!c->all)
		return out_of_memory();
	for (size_t i = 0; i < s->processes.len; i++)
		c->all[i] = hl_session_largest(s, i)->path;
	c->files = c->all;
	c->n = (int)s->processes.len;
	c->is_session = true;
	return 0;
}

int hl_session_choose_parts(struct hl_session_choice *c)
{
	const struct hl_session_list *s = c->session;
	char **all;

	if (!c->is_session)
		return 0;
	all = calloc(s->order.len + 1, sizeof(*all));
	if (!all)
		return out_of_memory();
	c->n = 0;
	for (size_t i = 0; i < s->processes.len; i++) {
		size_t n, first = hl_session_program_files(s, i, &n);

		for (size_t k = first; k < first + n; k++)
			all[c->n++] = s->files.data[s->order.data[k]].path;
	}
	free(c->all);
	c->files = c->all = all;
	return 0;
}

/* --- --process --- */

#define ARGUMENT_COLUMNS 40

static void put_process(
	struct hl_strbuf *b, const struct hl_session_file *f, const struct hl_session_process *p)
{
	struct hl_strbuf argument = {0};
	char peak[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "\n  %" PRIu64 "  ", f->pid);
	hl_text_escape(b, hl_session_base(f->program));
	if (p->argument) {
		hl_text_escape(&argument, p->argument);
		hl_strbuf_putc(b, ' ');
		hl_code_name_cut(
			b, hl_strbuf_str(&argument), argument.len, ARGUMENT_COLUMNS, 1, "...");
	}
	hl_strbuf_fini(&argument);
	hl_strbuf_printf(b, ", peak %s", hl_text_bytes(peak, f->peak_bytes));
}

static int compare_matches(const void *a, const void *b, void *arg)
{
	const struct hl_session_list *s = arg;
	const struct hl_session_match *x = a, *y = b;
	uint64_t p = s->files.data[x->file].peak_bytes, q = s->files.data[y->file].peak_bytes;

	return p > q ? -1 : p < q;
}

/* The lines of the message: hl_cli_error() would escape their ends. Their names are escaped. */
static void print_lines(const struct hl_strbuf *b)
{
	if (b->len)
		fprintf(stderr, "%s\n", hl_strbuf_str(b) + 1); /* without the first newline */
}

static int print_several(
	const struct hl_session_list *s, const char *name, struct hl_session_matches *m)
{
	struct hl_strbuf b = {0};
	size_t n = m->found.len;

	qsort_r(m->found.data, n, sizeof(*m->found.data), compare_matches, (void *)(uintptr_t)s);
	for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
		put_process(&b, &s->files.data[m->found.data[i].file],
			&s->processes.data[m->found.data[i].process]);
	if (n > SHOWN_MAX)
		hl_strbuf_printf(&b, "\n  and %zu more (heaplapse info --all)", n - SHOWN_MAX);
	hl_cli_error("%zu processes are \"%s\"; choose one by its pid, as in --process %" PRIu64, n,
		name, s->files.data[m->found.data[0].file].pid);
	print_lines(&b);
	hl_strbuf_fini(&b);
	return HL_EXIT_USAGE;
}

static const char *next_name(const void *from, size_t i)
{
	const struct hl_session_list *s = from;

	return i < s->processes.len ? hl_session_base(hl_session_largest(s, i)->program) : NULL;
}

static int print_none(const struct hl_session_list *s, const char *name)
{
	const char *similar = hl_suggest(name, next_name, s);
	size_t *order = hl_session_by_peak(s), n = s->processes.len;
	struct hl_strbuf b = {0};

	for (size_t i = 0; order && i < n && i < SHOWN_MAX; i++)
		put_process(&b, hl_session_largest(s, order[i]), &s->processes.data[order[i]]);
	if (n > SHOWN_MAX)
		hl_strbuf_printf(&b, "\n  and %zu more (heaplapse info --all)", n - SHOWN_MAX);
	if (similar)
		hl_cli_error(
			"no process of %s is \"%s\"; did you mean %s?", s->first, name, similar);
	else
		hl_cli_error("no process of %s is \"%s\"; it has", s->first, name);
	print_lines(&b);
	hl_strbuf_fini(&b);
	free(order);
	return HL_EXIT_USAGE;
}

static int choose_process(struct hl_session_choice *c, const char *name)
{
	struct hl_session_matches m;
	int status;

	if (hl_session_find(c->session, name, &m))
		status = out_of_memory();
	else if (m.found.len == 1)
		status = choose_file(c, m.found.data[0].file);
	else if (m.found.len > 1)
		status = print_several(c->session, name, &m);
	else
		status = print_none(c->session, name);
	hl_vec_free(&m.found);
	return status;
}

/* --- the operand alone --- */

/* Where the user's pattern names each trace, each name means its own trace. */
static bool is_in_dir(const struct hl_session_list *s, const struct hl_session_file *f)
{
	size_t n = strlen(s->dir);

	return !strncmp(f->path, s->dir, n) && f->path[n] == '/';
}

/* The last program that the process ran, from its beginning. */
static size_t find_last_program(const struct hl_session_list *s, size_t process)
{
	const struct hl_session_process *p = &s->processes.data[process];
	size_t file = s->order.data[p->in_order];

	for (size_t i = 1; i < p->n_files; i++) {
		size_t next = s->order.data[p->in_order + i];

		if (!s->files.data[next].continues && is_in_dir(s, &s->files.data[next]))
			file = next;
	}
	return file;
}

static int choose_first(struct hl_session_choice *c, enum hl_session_default alone)
{
	const struct hl_session_list *s = c->session;
	size_t file;

	/* A first trace that cannot be read is reported when it is opened. */
	if (!s->processes.len || (s->has_first && !s->files.data[0].is_read))
		return s->has_first ? choose_file(c, 0) : print_unreadable(s->first, -ENOENT);
	if (!s->has_first && s->processes.len > 1) {
		hl_cli_error("%s does not exist, so the program that was started was not recorded; "
			     "%s has %zu processes: use --all or --process NAME",
			s->first, s->dir, s->processes.len);
		return HL_EXIT_USAGE;
	}
	file = s->has_first && alone == HL_SESSION_FILE ? 0 : find_last_program(s, 0);
	if (file != 0 || !s->has_first)
		hl_cli_info("showing %s, the last program that process %" PRIu64 " ran: %s%s%s",
			hl_session_base(s->files.data[file].program), s->files.data[file].pid,
			s->files.data[file].path,
			s->has_first ? "; the first one is shown by --process " : "",
			s->has_first ? hl_session_base(s->first) : "");
	return choose_file(c, file);
}

static void print_skipped(const struct hl_session_list *s)
{
	if (s->bad_lines)
		hl_cli_error("%s/session: %" PRIu64 " line%s not understood and skipped", s->dir,
			s->bad_lines, s->bad_lines == 1 ? " is" : "s are");
}

static void print_problem(const struct hl_session_file *f)
{
	char process[64] = "";

	if (f->pid)
		snprintf(process, sizeof(process), " (pid %" PRIu64 ")", f->pid);
	if (f->is_moved)
		hl_cli_info("%s is not there, so its part of the recording of %s%s is not shown",
			f->path, hl_session_base(f->program), process);
	else if (!f->is_listed)
		hl_cli_error("a file in the directory of the session is not shown: %s", f->problem);
	else
		hl_cli_error("the trace of %s%s %s: %s",
			f->program[0] ? hl_session_base(f->program) : "the first program", process,
			f->is_missing ? "is missing" : "cannot be read", f->problem);
}

static void print_missing(const struct hl_session_list *s)
{
	uint64_t missing = hl_session_missing(s);
	char n[HL_TEXT_SIZE_MAX];

	if (missing)
		hl_cli_error("%s more trace%s of this run %s missing: expected in %s, the "
			     "directory of its session; copy it together with %s",
			hl_text_count(n, missing), missing == 1 ? "" : "s",
			missing == 1 ? "is" : "are", s->dir, hl_session_base(s->first));
}

static void print_problems(const struct hl_session_list *s)
{
	size_t n = 0;

	print_missing(s);

	for (size_t i = 0; i < s->files.len; i++)
		if (s->files.data[i].problem && n++ < SHOWN_MAX)
			print_problem(&s->files.data[i]);
	if (n > SHOWN_MAX)
		hl_cli_error("%zu more traces of the session cannot be read", n - SHOWN_MAX);
}

/* Only traces that have been opened have a problem. */
static bool is_lossy(const struct hl_session_choice *c)
{
	const struct hl_session_list *s = c->session;
	uint64_t pid = 0;

	if (c->is_session && hl_session_missing(s))
		return true;
	for (size_t i = 0; i < s->files.len && !c->is_session; i++)
		if (!strcmp(s->files.data[i].path, c->files[0]))
			pid = s->files.data[i].pid;
	for (size_t i = 0; i < s->files.len; i++)
		if (hl_session_file_is_lost(&s->files.data[i]) &&
			(c->is_session || s->files.data[i].pid == pid))
			return true;
	return false;
}

int hl_session_choice_status(const struct hl_session_choice *c, int status)
{
	bool is_better = status == HL_EXIT_OK || status == HL_EXIT_INCOMPLETE;

	return is_better && c->is_lossy ? HL_EXIT_IO : status;
}

static int choose_of_session(
	struct hl_session_choice *c, const struct hl_trace_opts *opts, enum hl_session_default as)
{
	bool all = as == HL_SESSION_ALL, read_all = all || opts->process;
	int err = read_all ? hl_session_list_read(c->session)
			   : hl_session_list_read_first(c->session);
	int status;

	if (err)
		return out_of_memory();
	c->is_read = read_all || !c->session->has_first;
	if (read_all)
		print_skipped(c->session);
	if (c->is_read || !c->session->files.data[0].problem)
		print_problems(c->session); /* otherwise the command prints it */
	if (all && !c->session->processes.len) {
		hl_cli_error("%s has no trace that can be read", c->session->dir);
		return HL_EXIT_IO;
	}
	status = opts->process ? choose_process(c, opts->process)
		 : all         ? choose_all(c)
			       : choose_first(c, as);
	c->is_lossy = !status && is_lossy(c);
	return status;
}

/* A trace without a directory, which as far as the trace itself says never had one. */
static bool is_alone(struct hl_session_list *s, enum hl_session_default as)
{
	if (s->files.len > 1 || !s->has_first)
		return false;
	return as != HL_SESSION_ALL || hl_session_list_read_first(s) || !hl_session_missing(s);
}

int hl_session_choose(struct hl_session_choice *c, const struct hl_trace_opts *opts, int argc,
	char **argv, enum hl_session_default alone)
{
	bool is_dir;
	int err, status;

	*c = (struct hl_session_choice){.files = argv, .n = argc};
	if (opts->all && opts->process)
		return hl_cli_usage("--all and --process exclude each other");
	if (argc == 0) {
		status = hl_trace_file_find_newest(&c->one[0]);
		if (status)
			return status;
		c->files = argv = c->one;
		c->n = 1;
	}
	if (argc > 1) {
		if ((opts->all || opts->process))
			return hl_cli_usage("%s takes one trace or the directory of a session, but "
					    "\"%s\" follows \"%s\"",
				opts->all ? "--all" : "--process", argv[1], argv[0]);
		return 0;
	}
	is_dir = hl_session_is_dir(argv[0]);
	err = hl_session_list_open(&c->session, argv[0]);
	if (err == -ENOENT)
		return 0; /* opening it prints the reason */
	if (err)
		return print_unreadable(argv[0], err);
	if (!is_dir && !opts->process && !opts->all && is_alone(c->session, alone)) {
		hl_session_list_free(c->session);
		c->session = NULL;
		return 0;
	}
	if (!c->session->files.len) {
		hl_cli_error("%s has no trace; name a trace, or the directory of a session",
			c->session->dir);
		return HL_EXIT_IO;
	}
	if (opts->all || (is_dir && !opts->process))
		alone = HL_SESSION_ALL;
	return choose_of_session(c, opts, opts->process ? HL_SESSION_FILE : alone);
}

int hl_session_require_one(const struct hl_session_choice *c, const char *what, const char *instead)
{
	size_t *order;
	int status;

	if (!c->is_session || c->n == 1)
		return 0;
	order = hl_session_by_peak(c->session);
	status = hl_cli_usage("%d processes cannot %s; %s, as in --process %" PRIu64, c->n, what,
		instead ? instead : "choose one",
		hl_session_largest(c->session, order ? order[0] : 0)->pid);
	free(order);
	return status;
}

/* --- the line about the rest --- */

static bool is_found_by(
	const struct hl_session_list *s, const char *name, const struct hl_session_file *f)
{
	struct hl_session_matches m;
	bool is_only = hl_session_find(s, name, &m) == 0 && m.found.len == 1 &&
		       &s->files.data[m.found.data[0].file] == f;

	hl_vec_free(&m.found);
	return is_only;
}

/* A name with control characters is shown in another form, which cannot be copied. */
static bool is_shown_as_it_is(const char *name)
{
	struct hl_strbuf shown = {0};
	bool same;

	hl_text_escape(&shown, name);
	same = !strcmp(hl_strbuf_str(&shown), name);
	hl_strbuf_fini(&shown);
	return same;
}

/* The value for --process: the program's name, if that means another file the pid, and if that does
 * too the name of the file. */
static const char *name_process(
	const struct hl_session_list *s, const struct hl_session_file *f, char pid[24])
{
	const char *name = hl_session_base(f->program);

	snprintf(pid, 24, "%" PRIu64, f->pid);
	if (is_shown_as_it_is(name) && is_found_by(s, name, f))
		return name;
	return is_found_by(s, pid, f) ? pid : hl_session_base(f->path);
}

void hl_session_put_command(
	struct hl_strbuf *b, const struct hl_session_list *s, const struct hl_session_file *f)
{
	char pid[24];

	hl_shell_put_word(b, program_invocation_name);
	hl_strbuf_puts(b, " report --process ");
	hl_shell_put_word(b, name_process(s, f, pid));
	hl_strbuf_putc(b, ' ');
	hl_shell_put_path(b, s->has_first ? s->first : s->dir);
}

static bool has_file(
	const struct hl_session_list *s, const struct hl_session_process *p, const char *path)
{
	for (size_t i = 0; i < p->n_files; i++)
		if (!strcmp(s->files.data[s->order.data[p->in_order + i]].path, path))
			return true;
	return false;
}

/* The rest of the process that is shown. */
static void print_same_process(
	const struct hl_session_list *s, const struct hl_session_process *p, const char *shown)
{
	const struct hl_session_file *last = &s->files.data[p->last];
	const struct hl_session_file *largest = &s->files.data[p->largest];
	struct hl_strbuf command = {0};
	char peak[HL_TEXT_SIZE_MAX];

	if (strcmp(largest->path, shown) != 0 && !largest->continues) {
		hl_session_put_command(&command, s, largest);
		hl_cli_info_command(hl_strbuf_str(&command),
			"process %" PRIu64 " %s ran %s with a higher peak, %s:", largest->pid,
			largest == last ? "then" : "also", hl_session_base(largest->program),
			hl_text_bytes(peak, largest->peak_bytes));
		hl_strbuf_fini(&command);
	} else if (last->continues && strcmp(last->path, shown) != 0) {
		hl_cli_info("the recording of process %" PRIu64 " continues in %s", last->pid,
			last->path);
	} else if (strcmp(last->path, shown) != 0) {
		hl_cli_info("process %" PRIu64 " then ran %s: %s", last->pid,
			hl_session_base(last->program), last->path);
	}
}

/* The process executed a program that has no trace. */
static void print_unrecorded(const struct hl_session_list *s, const struct hl_session_process *p)
{
	const struct hl_session_file *last = &s->files.data[p->last];

	if (last->end.kind == HL_END_EXEC)
		hl_cli_info("process %" PRIu64 " then ran a program that was not recorded: it "
			    "was skipped, is static or privileged, or had no LD_PRELOAD (env -i)",
			last->pid);
}

/* A process may have much memory outside of its heap. */
static void put_resident(struct hl_strbuf *b, const struct hl_session_file *largest,
	const struct hl_session_file *resident)
{
	char bytes[HL_TEXT_SIZE_MAX];

	if (resident != largest && resident->resident_bytes > largest->resident_bytes)
		hl_strbuf_printf(b, "; %s (pid %" PRIu64 ") has the most resident memory, %s",
			hl_session_base(resident->program), resident->pid,
			hl_text_bytes(bytes, resident->resident_bytes));
}

static void print_others(const struct hl_session_list *s, const struct hl_session_file *largest,
	const struct hl_session_file *resident)
{
	char peak[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	size_t others = s->processes.len - 1;
	struct hl_strbuf command = {0}, more = {0};

	hl_session_put_command(&command, s, largest);
	put_resident(&more, largest, resident);
	hl_cli_info_command(hl_strbuf_str(&command),
		"%s more process%s in %s; %s%s%s with a peak of %s%s:", hl_text_count(n, others),
		others == 1 ? "" : "es", s->dir, others == 1 ? "it is " : "",
		hl_session_base(largest->program), others == 1 ? "" : " has the largest heap,",
		hl_text_bytes(peak, largest->peak_bytes), hl_strbuf_str(&more));
	hl_strbuf_fini(&command);
	hl_strbuf_fini(&more);
}

/* A trace that has no directory is not a session, unless it says so itself. */
static void print_lack_of_session(const char *trace)
{
	struct hl_session_list *s;

	if (hl_session_list_open(&s, trace))
		return;
	if (hl_session_list_read_first(s) == 0) {
		print_missing(s);
		if (s->processes.len && !hl_session_missing(s))
			print_unrecorded(s, &s->processes.data[0]);
	}
	hl_session_list_free(s);
}

void hl_session_print_rest(struct hl_session_choice *c)
{
	struct hl_session_list *s = c->session;
	const struct hl_session_file *largest = NULL, *resident = NULL;
	char n[HL_TEXT_SIZE_MAX];

	if (!s && c->n == 1)
		print_lack_of_session(c->files[0]);
	if (!s || c->is_session || c->n != 1)
		return;
	if (!c->is_read && s->files.len > REST_MAX) {
		hl_cli_info("%s more traces are in %s: report --all",
			hl_text_count(n, s->files.len - 1), s->dir);
		return;
	}
	if (!c->is_read && hl_session_list_read(s))
		return;
	if (!c->is_read)
		print_problems(s);
	for (size_t i = 0; i < s->processes.len; i++) {
		const struct hl_session_file *f = hl_session_largest(s, i);

		if (has_file(s, &s->processes.data[i], c->files[0])) {
			print_same_process(s, &s->processes.data[i], c->files[0]);
			print_unrecorded(s, &s->processes.data[i]);
			continue;
		}
		if (!largest || f->peak_bytes > largest->peak_bytes)
			largest = f;
		if (!resident || f->resident_bytes > resident->resident_bytes)
			resident = f;
	}
	if (largest)
		print_others(s, largest, resident);
}
