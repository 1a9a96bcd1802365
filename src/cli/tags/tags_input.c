/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags_input.c - see tags_input.h.
 *
 * The counters of a running program are read from outside, without stopping or notifying the
 * program. A note in the image of the recorder has their address, see tags/tag_counters.h. All data
 * read is untrusted.
 */
#include "cli/tags/tags_input.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/doctor/running_process.h"
#include "cli/files/trace_file.h"
#include "tags/tag_capture.h"
#include "util/path_suffix.h"
#include "util/procfs.h"

#define NOTES_MAX 65536u
#define LIBRARY   "libheaplapse.so"
/* The first byte of a trace. No text begins with it. */
#define TRACE_FIRST_BYTE ((char)0x89)

struct process {
	pid_t pid;
	struct hl_tag_trees *trees;
};

static int read_process(void *arg, uint64_t addr, void *to, size_t n)
{
	const struct process *p = arg;
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)addr, n};
	ssize_t got = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == n ? 0 : -EFAULT;
}

static void *alloc_more(void *arg, size_t bytes)
{
	return hl_tag_trees_alloc(((struct process *)arg)->trees, bytes);
}

/* Finds our note in the notes at an address, and with it the header of the counters. Returns 0 if
 * it is not there. */
static uint64_t find_in_notes(const char *notes, size_t len, uint64_t addr)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= len) {
		Elf64_Nhdr note;
		size_t name = at + sizeof(note), desc;
		uint64_t shift;

		memcpy(&note, notes + at, sizeof(note));
		if (note.n_namesz > len || note.n_descsz > len)
			return 0;
		desc = name + hl_align_up(note.n_namesz, 4);
		at = desc + hl_align_up(note.n_descsz, 4);
		if (at > len)
			return 0;
		if (note.n_type != HL_TAGS_NOTE_TYPE || note.n_descsz != sizeof(shift) ||
			note.n_namesz != sizeof(HL_TAGS_NOTE_NAME) ||
			memcmp(notes + name, HL_TAGS_NOTE_NAME, sizeof(HL_TAGS_NOTE_NAME)) != 0)
			continue;
		memcpy(&shift, notes + desc, sizeof(shift));
		return addr + desc + shift;
	}
	return 0;
}

/* Finds the header of the counters. The image of the recorder is at base. *head is 0 if it has no
 * such note. */
static int find_counters(struct process *p, uint64_t base, uint64_t *head)
{
	char *notes = malloc(NOTES_MAX);
	Elf64_Ehdr e;
	int err = notes ? read_process(p, base, &e, sizeof(e)) : -ENOMEM;

	*head = 0;
	if (!err &&
		(memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof(Elf64_Phdr)))
		err = -EBADMSG;
	for (unsigned i = 0; !err && !*head && i < e.e_phnum; i++) {
		Elf64_Phdr ph;

		err = read_process(p, base + e.e_phoff + i * sizeof(ph), &ph, sizeof(ph));
		if (err || ph.p_type != PT_NOTE || ph.p_filesz > NOTES_MAX)
			continue;
		err = read_process(p, base + ph.p_vaddr, notes, ph.p_filesz);
		if (!err)
			*head = find_in_notes(notes, ph.p_filesz, base + ph.p_vaddr);
	}
	free(notes);
	return err;
}

/* Finds the address of the recorder's image. Returns 0; -ENXIO: the recorder is not in the process;
 * -errno. */
static int find_image(struct process *p, uint64_t *base)
{
	FILE *maps = hl_procfs_fopen((uint64_t)p->pid, "maps");
	char line[5000];
	int err = -ENXIO;

	if (!maps)
		return -errno;
	while (err && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/'), *name = path ? strrchr(path, '/') + 1 : NULL;
		uint64_t offset;

		if (name && !strncmp(name, LIBRARY, strlen(LIBRARY)) &&
			sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, base, &offset) == 2 &&
			offset == 0)
			err = 0;
	}
	fclose(maps);
	return err;
}

static void read_memory_usage(struct process *p)
{
	struct hl_tag_report *r = &p->trees->r;
	char text[200];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	r->pid = (uint64_t)p->pid;
	r->time_s = time(NULL);
	if (hl_procfs_read(r->pid, "statm", text, sizeof(text)) &&
		sscanf(text, "%" SCNu64 " %" SCNu64, &r->vm_bytes, &r->rss_bytes) == 2) {
		r->vm_bytes *= page;
		r->rss_bytes *= page;
	}
}

static int print_process_error(const char *pid, int err)
{
	switch (-err) {
	case ENOENT:
	case ESRCH:
		hl_cli_error("there is no process %s", pid);
		break;
	case ECHILD:
		hl_cli_error(
			"process %s is heaplapse, not a recorded program; pass the program's pid",
			pid);
		break;
	case EPERM:
	case EACCES:
		hl_cli_error("cannot inspect process %s: it belongs to another user, or ptrace is "
			     "restricted; run this as its user or as root, or let the program "
			     "write its counters (HEAPLAPSE_STATS_JSON)",
			pid);
		break;
	case ENXIO:
		hl_cli_error("process %s counts no tags: " LIBRARY " is not in it; start it with "
			     "`heaplapse record --mode=tags`, or link it with -lheaplapse",
			pid);
		break;
	case ENODATA:
		hl_cli_error("process %s counts no tags: it is recorded in another mode; start it "
			     "with --mode=tags",
			pid);
		break;
	case EPROTO:
		hl_cli_error(
			"the " LIBRARY
			" in process %s belongs to another version of heaplapse; use that version",
			pid);
		break;
	default:
		hl_cli_error("cannot read the counters of process %s (%s): it is ending, or has "
			     "overwritten them; try again",
			pid, strerror(-err));
	}
	return HL_EXIT_IO;
}

static int read_from_process(const char *word, struct hl_tag_trees *b)
{
	struct process p = {.trees = b};
	struct hl_tags_source source = {
		.read = read_process, .alloc = alloc_more, .arg = &p, .tries = 200000};
	uint64_t base = 0, head = 0, pid = strtoull(word, NULL, 10);
	char program[24];
	int err = pid && pid <= INT32_MAX ? hl_running_process_follow(pid, &pid) : -ESRCH;

	p.pid = (pid_t)pid;
	snprintf(program, sizeof(program), "%" PRIu64, pid);
	if (!err)
		err = find_image(&p, &base);
	if (!err)
		err = find_counters(&p, base, &head);
	if (!err && !head)
		err = -EPROTO;
	if (!err)
		err = hl_tags_capture(&source, head, &b->r);
	if (err)
		return print_process_error(pid <= INT32_MAX ? program : word, err);
	read_memory_usage(&p);
	return HL_EXIT_OK;
}

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;
	struct stat st;
	int err = 0;

	if (!f)
		return NULL;
	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode))
		err = EISDIR;
	for (*len = 0; !err && !feof(f) && *len < INT32_MAX;) {
		err = hl_vec_grow((void **)&text, &cap, *len + 65536, 1) ? ENOMEM : 0;
		if (!err)
			*len += fread(text + *len, 1, 65536, f);
		if (ferror(f))
			err = errno ? errno : EIO;
	}
	fclose(f);
	if (err) {
		free(text);
		text = NULL;
		errno = err;
	}
	return text;
}

static int print_snapshot_error(const char *path, const struct hl_tag_trees *b, int err)
{
	switch (-err) {
	case ERANGE:
		hl_cli_error("%s: \"%s\" is not a valid number: the file was not written by "
			     "heaplapse, or was modified",
			path, b->wrong);
		break;
	case EPIPE:
		hl_cli_error(
			"%s is truncated: it ends in the middle of a snapshot; use another copy",
			path);
		break;
	case EPROTO:
		hl_cli_error(
			"%s was written by a later version of heaplapse; use that version", path);
		break;
	case EBADMSG:
		hl_cli_error("%s is not a snapshot of tags; pass a file written by "
			     "HEAPLAPSE_STATS_JSON or `heaplapse tags --json`, a trace, or a pid",
			path);
		break;
	default:
		hl_cli_error("%s cannot be read: %s", path, strerror(-err));
	}
	return HL_EXIT_IO;
}

static int read_from_snapshot(const char *path, struct hl_tag_trees *b)
{
	size_t len;
	char *text = read_file(path, &len);
	int err = text ? hl_tag_trees_from_json(b, text, len) : -errno;

	free(text);
	return err ? print_snapshot_error(path, b, err) : HL_EXIT_OK;
}

static int read_from_trace(const char *path, struct hl_tag_trees *b)
{
	char *argv[] = {(char *)(uintptr_t)path, NULL};
	struct hl_model *m;
	int err, status = hl_trace_file_open(1, argv, &m);

	if (status)
		return status;
	err = hl_tags_from_trace(m, b);
	if (err == -ENOENT && hl_model_empty_reason(m))
		hl_cli_error("%s has no tags: %s", path, hl_model_empty_reason(m));
	else if (err == -ENOENT)
		hl_cli_error("%s has no tags: the program entered no scope (HEAPLAPSE_SCOPE in "
			     "heaplapse.h)",
			path);
	else if (err)
		return hl_trace_file_failed(m); /* which closes m */
	hl_model_close(m);
	return err ? HL_EXIT_IO : HL_EXIT_OK;
}

/* Decides by the first byte; the name may be any. Only a regular file can be read twice. */
static bool is_trace(const char *path)
{
	bool named = hl_path_has_suffix(path, ".hlt");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char first = 0;
	ssize_t n =
		fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, &first, 1, 0) : 0;

	if (fd >= 0)
		close(fd);
	return n == 1 ? first == TRACE_FIRST_BYTE || (named && first != '{') : named;
}

int hl_tags_input(const char *word, struct hl_tag_trees *b)
{

	if (hl_running_process_is_pid(word) && access(word, F_OK) != 0)
		return read_from_process(word, b);
	if (is_trace(word))
		return read_from_trace(word, b);
	return read_from_snapshot(word, b);
}
