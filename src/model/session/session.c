/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - see session.h. */
#include "model/session/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "model/session/session_arguments.h"
#include "trace/format/session_row.h"
#include "util/string_table.h"

const char *hl_session_base(const char *program)
{
	const char *slash = strrchr(program, '/');

	return slash && slash[1] ? slash + 1 : program;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), k = strlen(suffix);

	return n > k && !strcmp(text + n - k, suffix);
}

static bool is_regular(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void free_file(struct hl_session_file *f)
{
	free(f->path);
	free(f->program);
	free(f->command);
	free(f->problem);
}

void hl_session_list_free(struct hl_session_list *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->files.len; i++)
		free_file(&s->files.data[i]);
	hl_vec_free(&s->files);
	hl_vec_free(&s->processes);
	hl_vec_free(&s->order);
	free(s->first);
	free(s->dir);
	free(s);
}

static int add_file(
	struct hl_session_list *s, char *path, const struct hl_session_row *row, bool is_listed)
{
	struct hl_session_file f = {.path = path,
		.is_listed = is_listed,
		.program = strdup(row->program),
		.pid = row->pid,
		.parent_pid = row->parent_pid,
		.start_unix_ns = row->start_unix_ns};
	int err = path && f.program ? 0 : -ENOMEM;

	if (!err && s->files.len >= HL_SESSION_FILES_MAX)
		err = -EFBIG;
	if (!err)
		err = hl_vec_push(&s->files, f) ? -ENOMEM : 0;
	if (err)
		free_file(&f);
	return err;
}

/* --- the list and the directory --- */

/* The path of a listed file; NULL: no memory. */
static char *path_in_dir(const struct hl_session_list *s, const char *name)
{
	const char *slash = strrchr(s->first, '/');
	char *path;
	int n;

	if (strncmp(name, "../", 3) != 0)
		n = asprintf(&path, "%s/%s", s->dir, name);
	else
		n = asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - s->first) : 0, s->first,
			name + 3);
	return n < 0 ? NULL : path;
}

/* The list itself and files that the user put into the directory are no traces. */
static bool may_be_trace(const char *name)
{
	return !strncmp(name, "../", 3) || ends_with(name, ".hlt");
}

/* A name is counted once. A listed file that is missing is one that cannot be read. */
static int add_name(struct hl_session_list *s, struct hl_string_table *known,
	const struct hl_session_row *row, bool is_listed)
{
	uint32_t id;
	char *path;

	if (!may_be_trace(row->file) || hl_string_table_find(known, row->file, &id))
		return 0;
	if (hl_string_table_add(known, row->file, &id))
		return -ENOMEM;
	path = path_in_dir(s, row->file);
	if (path && ((!is_listed && !is_regular(path)) || !strcmp(path, s->first))) {
		free(path);
		return 0;
	}
	return add_file(s, path, row, is_listed);
}

static int read_line(struct hl_session_list *s, struct hl_string_table *known, char *line)
{
	struct hl_session_row row;
	size_t len = strlen(line);
	bool whole = len && line[len - 1] == '\n';

	if (whole && !strcmp(line, HL_SESSION_HEADER))
		return 0;
	if (whole)
		line[len - 1] = '\0';
	if (!whole || !hl_session_row_parse(&row, line)) {
		s->bad_lines++;
		return 0;
	}
	return row.file ? add_name(s, known, &row, true) : 0;
}

static void skip_rest_of_line(FILE *f)
{
	int c;

	while ((c = getc(f)) != EOF && c != '\n')
		;
}

static int read_list(struct hl_session_list *s, struct hl_string_table *known)
{
	char line[HL_SESSION_LINE_MAX], *path;
	int err = 0, fd;
	FILE *f;

	if (asprintf(&path, "%s/" HL_SESSION_LIST, s->dir) < 0)
		return -ENOMEM;
	fd = is_regular(path) ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	free(path);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f && fd >= 0)
		close(fd);
	while (f && !err && fgets(line, sizeof(line), f)) {
		if (strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n')
			skip_rest_of_line(f);
		err = read_line(s, known, line);
	}
	if (f)
		fclose(f);
	return err;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Traces that the list lacks: a collector was killed between two steps, or the disk was full. */
static int read_unlisted(struct hl_session_list *s, struct hl_string_table *known)
{
	HL_VEC(char *) names = {0};
	DIR *d = opendir(s->dir);
	struct dirent *e;
	int err = 0;

	while (d && !err && (e = readdir(d))) {
		char *name = ends_with(e->d_name, ".hlt") ? strdup(e->d_name) : NULL;

		if (name && (names.len >= HL_SESSION_FILES_MAX || hl_vec_push(&names, name))) {
			free(name);
			err = names.len >= HL_SESSION_FILES_MAX ? -EFBIG : -ENOMEM;
		}
	}
	if (d)
		closedir(d);
	if (names.len)
		qsort(names.data, names.len, sizeof(*names.data), compare_names);
	for (size_t i = 0; i < names.len; i++) {
		const struct hl_session_row row = {.program = "", .file = names.data[i]};

		if (!err)
			err = add_name(s, known, &row, false);
		free(names.data[i]);
	}
	hl_vec_free(&names);
	return err;
}

static int set_paths(struct hl_session_list *s, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (is_directory(path)) {
		s->dir = strndup(path, n);
		/* Another name has no first trace beside it; ".." is then its parent. */
		if (s->dir && ends_with(s->dir, HL_SESSION_SUFFIX))
			s->first = strndup(path, n - strlen(HL_SESSION_SUFFIX));
		else if (asprintf(&s->first, "%.*s/../.", (int)n, path) < 0)
			s->first = NULL;
	} else {
		s->first = strdup(path);
		if (asprintf(&s->dir, "%s" HL_SESSION_SUFFIX, path) < 0)
			s->dir = NULL;
	}
	return s->first && s->dir ? 0 : -ENOMEM;
}

bool hl_session_is_dir(const char *path)
{
	struct hl_session_list *s;
	bool found;

	if (!is_directory(path) || hl_session_list_open(&s, path))
		return false;
	found = s->files.len > s->has_first || ends_with(s->dir, ".hlt" HL_SESSION_SUFFIX);
	hl_session_list_free(s);
	return found;
}

int hl_session_list_open(struct hl_session_list **out, const char *path)
{
	struct hl_session_list *s = calloc(1, sizeof(*s));
	const struct hl_session_row first = {.program = ""};
	struct hl_string_table known = {0};
	struct stat st;
	int err = s ? set_paths(s, path) : -ENOMEM;

	if (!err && stat(s->first, &st) == 0 && S_ISREG(st.st_mode)) {
		s->has_first = true;
		err = add_file(s, strdup(s->first), &first, true);
	}
	if (!err && is_directory(s->dir))
		err = read_list(s, &known);
	if (!err && is_directory(s->dir))
		err = read_unlisted(s, &known);
	if (!err && !s->has_first && !is_directory(s->dir))
		err = -ENOENT;
	hl_string_table_fini(&known);
	if (err) {
		hl_session_list_free(s);
		s = NULL;
	}
	*out = s;
	return err;
}

/* --- the traces --- */

static void take_info(struct hl_session_file *f, const struct hl_trace_info *i)
{
	const struct hl_totals *t = &i->totals;
	char *program = strdup(i->meta.program);

	if (program) {
		free(f->program);
		f->program = program;
	}
	f->pid = i->meta.pid;
	f->parent_pid = i->meta.parent_pid;
	f->start_unix_ns = i->meta.start_unix_ns;
	f->is_read = true;
	f->forked = i->meta.forked;
	f->begins_late = i->meta.base.is_late;
	f->continues = i->meta.taken_over || f->begins_late;
	f->end = i->end;
	f->peak_bytes = t->peak_bytes;
	f->peak_blocks = t->peak_blocks;
	f->allocations = t->sums.alloc_blocks;
	f->live_bytes = hl_sums_live_bytes(&t->sums);
	f->live_blocks = hl_sums_live_blocks(&t->sums);
	f->is_sampled = t->samples > 0;
	f->is_damaged = i->damaged;
}

#define COMMAND_BYTES 4096u

static void set_problem(struct hl_session_file *f, const char *text)
{
	if (!f->problem)
		f->problem = strdup(text);
}

/* Nothing but a regular file is opened: a FIFO would block. False: it has a problem. */
static bool check_regular(struct hl_session_file *f)
{
	struct stat st;
	char *text;
	int err = lstat(f->path, &st) < 0 ? errno : 0;

	if (!err && S_ISREG(st.st_mode))
		return true;
	f->is_missing = err == ENOENT;
	if (asprintf(&text, "%s: %s", f->path, err ? strerror(err) : "not a regular file") >= 0) {
		set_problem(f, text);
		free(text);
	}
	return false;
}

/* The whole words of at most COMMAND_BYTES. */
static void take_command(struct hl_session_file *f, const struct hl_meta *meta)
{
	size_t n = meta->command_len < COMMAND_BYTES ? meta->command_len : COMMAND_BYTES;

	while (n && meta->command[n - 1])
		n--;
	f->command = n ? malloc(n) : NULL;
	if (f->command)
		memcpy(f->command, meta->command, n);
	f->command_len = f->command ? n : 0;
}

static void read_file(struct hl_session_file *f)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_rss_sample rss;
	struct hl_reader *r;

	if (f->is_read || f->problem || !check_regular(f))
		return;
	if (hl_reader_open(&r, f->path, &why)) {
		set_problem(f, why.text);
		return;
	}
	if (hl_reader_info(r, &info) == 0) {
		take_info(f, info);
		take_command(f, &info->meta);
		(void)hl_reader_peak_rss(r, &rss);
		f->resident_bytes = rss.rss_bytes;
	} else {
		set_problem(f, hl_reader_error(r));
	}
	hl_reader_close(r);
}

struct pid_file {
	uint64_t pid;
	size_t file;
};

static int compare_pids(const void *a, const void *b)
{
	const struct pid_file *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

#define MOVES_MAX 8 /* more collectors do not race; a hostile list must not take long */

/* Under a bare LD_PRELOAD the collector of the parent lists a fork child, and another collector the
 * program that the child executes, perhaps earlier. */
static void move_forked_ahead(const struct hl_session_list *s, struct pid_file *by_pid, size_t at)
{
	for (size_t moves = 0; at > 0 && moves < MOVES_MAX; at--, moves++) {
		const struct hl_session_file *f = &s->files.data[by_pid[at].file];
		const struct hl_session_file *before = &s->files.data[by_pid[at - 1].file];
		struct pid_file moved = by_pid[at];

		if (!f->forked || f->continues || before->pid != f->pid || before->forked ||
			before->continues || f->start_unix_ns >= before->start_unix_ns)
			return;
		by_pid[at] = by_pid[at - 1];
		by_pid[at - 1] = moved;
	}
}

/* A pid may be used again: a process ends when it does not continue by exec or in another file. */
static bool is_same_process(const struct hl_session_file *before, const struct hl_session_file *f)
{
	if (before->pid != f->pid)
		return false;
	if (f->continues)
		return true;
	return !f->forked && (before->end.kind == HL_END_EXEC || before->end.kind == HL_END_LOST ||
				     before->end.kind == HL_END_RUNNING);
}

static int add_to_process(struct hl_session_list *s, size_t file)
{
	struct hl_session_process *p =
		s->processes.len ? &s->processes.data[s->processes.len - 1] : NULL;
	struct hl_session_process new = {
		.last = file, .largest = file, .n_files = 1, .in_order = s->order.len};

	if (hl_vec_push(&s->order, file))
		return -ENOMEM;
	if (!p || !is_same_process(&s->files.data[p->last], &s->files.data[file]))
		return hl_vec_push(&s->processes, new) ? -ENOMEM : 0;
	p->last = file;
	p->n_files++;
	return 0;
}

/* The program with the highest peak, of equal ones the last. A fork child counts only if it never
 * called exec: until then it is its parent's program. */
static void find_largest(const struct hl_session_list *s, struct hl_session_process *p)
{
	p->largest = p->last;
	for (size_t i = 0; i + 1 < p->n_files; i++) {
		size_t at = s->order.data[p->in_order + i];
		const struct hl_session_file *f = &s->files.data[at];

		/* a file that is continued has not all numbers of its program */
		if (!f->forked && !s->files.data[s->order.data[p->in_order + i + 1]].continues &&
			f->peak_bytes > s->files.data[p->largest].peak_bytes)
			p->largest = at;
	}
}

size_t hl_session_program_files(const struct hl_session_list *s, size_t process, size_t *n)
{
	const struct hl_session_process *p = &s->processes.data[process];
	size_t end = p->in_order + p->n_files, first = p->in_order, last;

	while (s->order.data[first] != p->largest)
		first++;
	last = first;
	while (first > p->in_order && s->files.data[s->order.data[first]].continues)
		first--;
	while (last + 1 < end && s->files.data[s->order.data[last + 1]].continues)
		last++;
	*n = last + 1 - first;
	return first;
}

uint64_t hl_session_missing(const struct hl_session_list *s)
{
	uint64_t others = s->files.len - s->has_first, expected;

	if (!s->has_first || !s->files.data[0].is_read)
		return 0;
	expected = s->files.data[0].end.other_traces;
	return expected > others ? expected - others : 0;
}

uint64_t hl_session_start(const struct hl_session_list *s)
{
	uint64_t start = UINT64_MAX;

	for (size_t i = 0; i < s->processes.len; i++) {
		uint64_t began = hl_session_largest(s, i)->start_unix_ns;

		start = began < start ? began : start;
	}
	return start;
}

static int compare_pid(const void *key, const void *pid)
{
	uint64_t x = *(const uint64_t *)key, y = *(const uint64_t *)pid;

	return x < y ? -1 : x > y;
}

/* Missing files of a process that has a file with a base. */
static int find_moved(struct hl_session_list *s)
{
	uint64_t *pids = calloc(s->files.len + 1, sizeof(*pids));
	size_t n = 0;

	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < s->order.len; i++) { /* by pid */
		const struct hl_session_file *f = &s->files.data[s->order.data[i]];

		if (f->begins_late)
			pids[n++] = f->pid;
	}
	for (size_t i = 0; i < s->files.len; i++) {
		struct hl_session_file *f = &s->files.data[i];

		f->is_moved = f->is_missing && f->pid &&
			      bsearch(&f->pid, pids, n, sizeof(*pids), compare_pid);
	}
	free(pids);
	return 0;
}

/* By the first file of each process, which is the order in which they began. */
static int compare_begins(const void *a, const void *b, void *arg)
{
	const struct hl_session_list *s = arg;
	const struct hl_session_process *x = a, *y = b;
	size_t i = s->order.data[x->in_order], k = s->order.data[y->in_order];

	return i < k ? -1 : i > k;
}

static int find_processes(struct hl_session_list *s)
{
	struct pid_file *by_pid = calloc(s->files.len + 1, sizeof(*by_pid));
	size_t n = 0;
	int err = by_pid ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < s->files.len; i++)
		if (s->files.data[i].is_read)
			by_pid[n++] = (struct pid_file){s->files.data[i].pid, i};
	if (n)
		qsort(by_pid, n, sizeof(*by_pid), compare_pids);
	for (size_t i = 1; i < n; i++)
		move_forked_ahead(s, by_pid, i);
	s->processes.len = s->order.len = 0;
	for (size_t i = 0; !err && i < n; i++)
		err = add_to_process(s, by_pid[i].file);
	free(by_pid);
	if (!err)
		err = find_moved(s);
	for (size_t i = 0; i < s->processes.len; i++)
		find_largest(s, &s->processes.data[i]);
	if (s->processes.len)
		qsort_r(s->processes.data, s->processes.len, sizeof(*s->processes.data),
			compare_begins, s);
	return err;
}

static int count_lost(struct hl_session_list *s)
{
	struct pid_file *lost = calloc(s->files.len + 1, sizeof(*lost));
	size_t n = 0;

	if (!lost)
		return -ENOMEM;
	for (size_t i = 0; i < s->files.len; i++)
		if (hl_session_file_is_lost(&s->files.data[i]))
			lost[n++] = (struct pid_file){s->files.data[i].pid, i};
	if (n)
		qsort(lost, n, sizeof(*lost), compare_pids);
	s->lost_processes = s->partial_processes = 0;
	for (size_t i = 0, k = 0; i < n; i++) { /* `order` is by pid, too */
		if (i && lost[i].pid == lost[i - 1].pid)
			continue;
		while (k < s->order.len && s->files.data[s->order.data[k]].pid < lost[i].pid)
			k++;
		if (k < s->order.len && s->files.data[s->order.data[k]].pid == lost[i].pid)
			s->partial_processes++;
		else
			s->lost_processes++;
	}
	free(lost);
	return 0;
}

#define NAMED_MAX 10000 /* a table of more processes is too long to read */

int hl_session_list_read(struct hl_session_list *s)
{
	for (size_t i = 0; i < s->files.len; i++)
		read_file(&s->files.data[i]);
	if (find_processes(s) || count_lost(s))
		return -ENOMEM;
	return s->files.len <= NAMED_MAX ? hl_session_find_arguments(s) : 0;
}

int hl_session_list_read_first(struct hl_session_list *s)
{
	uint64_t pid;

	if (!s->has_first)
		return hl_session_list_read(s);
	read_file(&s->files.data[0]);
	pid = s->files.data[0].pid;
	for (size_t i = 1; i < s->files.len; i++)
		if (s->files.data[i].pid == pid || !s->files.data[i].pid)
			read_file(&s->files.data[i]);
	return find_processes(s);
}

/* --- choosing --- */

static int compare_peaks(const void *a, const void *b, void *arg)
{
	const struct hl_session_list *s = arg;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t x = hl_session_largest(s, i)->peak_bytes, y = hl_session_largest(s, k)->peak_bytes;

	if (x != y)
		return x > y ? -1 : 1;
	return i < k ? -1 : i > k;
}

size_t *hl_session_by_peak(const struct hl_session_list *s)
{
	size_t *index = calloc(s->processes.len + 1, sizeof(*index));

	for (size_t i = 0; index && i < s->processes.len; i++)
		index[i] = i;
	if (index && s->processes.len)
		qsort_r(index, s->processes.len, sizeof(*index), compare_peaks,
			(void *)(uintptr_t)s);
	return index;
}

static bool is_number(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

/* How a name is compared: with the programs as they were called, or with the files that these names
 * lead to here, as sh to dash. */
enum by { BY_NAME, BY_PID, BY_TARGET };

static bool is_program(const char *program, const char *name, enum by by)
{
	char path[PATH_MAX];

	if (by == BY_TARGET)
		return program[0] == '/' && realpath(program, path) &&
		       !strcmp(hl_session_base(path), name);
	return by == BY_NAME && !strcmp(hl_session_base(program), name);
}

static int find_by(const struct hl_session_list *s, const char *name, uint64_t pid, enum by by,
	struct hl_session_matches *m)
{
	for (size_t i = 0; i < s->processes.len; i++) {
		const struct hl_session_process *p = &s->processes.data[i];
		struct hl_session_match found = {.process = i, .file = SIZE_MAX};

		for (size_t k = 0; k < p->n_files; k++) {
			size_t file = s->order.data[p->in_order + k];
			const struct hl_session_file *f = &s->files.data[file];

			/* A fork child has the program of its parent until it calls exec. */
			if (!strcmp(hl_session_base(f->path), name))
				found.file = file;
			else if (by == BY_PID && f->pid == pid)
				found.file = p->largest;
			else if (is_program(f->program, name, by) &&
				 (!f->forked || p->n_files == 1))
				found.file = file;
		}
		if (found.file != SIZE_MAX && hl_vec_push(&m->found, found))
			return -ENOMEM;
	}
	return 0;
}

int hl_session_find(const struct hl_session_list *s, const char *name, struct hl_session_matches *m)
{
	uint64_t pid;
	int err;

	*m = (struct hl_session_matches){0};
	err = is_number(name, &pid) ? find_by(s, name, pid, BY_PID, m) : 0;
	/* a program may be named "123" */
	if (!err && !m->found.len)
		err = find_by(s, name, 0, BY_NAME, m);
	return err || m->found.len ? err : find_by(s, name, 0, BY_TARGET, m);
}
