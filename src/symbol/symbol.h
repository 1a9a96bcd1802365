/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.h - from (module, offset) to functions, files and lines, including inlined calls.
 *
 * A module's file is used only if its build-id is the recorded one; without a build-id, only if it
 * is older than the recording or named by the user (paths). Offsets are return addresses in the
 * address space of the ELF file; they are looked up one byte earlier, in the call instruction.
 * Names come from DWARF, else from ELF symbol tables, of the file itself or of its separate debug
 * file. Nothing is downloaded unless configured, and only regular files are opened. Not
 * thread-safe: one thread at a time.
 */
#ifndef HL_SYMBOL_SYMBOL_H
#define HL_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_symbols;
struct hl_symbols_module;

struct hl_symbol_frame {
	const char *function;     /* demangled, complete */
	const char *display_name; /* the name for display, see hl_symbols_config.ellipsis */
	const char *file;         /* NULL if not known */
	uint32_t line;            /* 0 if not known */
	bool inlined;             /* inlined into the frame that follows */
};

/* How much is known about a module. */
enum hl_symbols_state {
	HL_SYMBOLS_FULL,     /* DWARF: files, lines, inlined calls */
	HL_SYMBOLS_NAMES,    /* ELF symbols only */
	HL_SYMBOLS_STRIPPED, /* the file is stripped */
	HL_SYMBOLS_NO_FILE,  /* no file, not a regular ELF file, or no path ("[vdso]") */
	HL_SYMBOLS_REBUILT,  /* the file is not the recorded one */
	HL_SYMBOLS_CHANGED,  /* a file without a build-id that was modified after the recording */
};

/* Strings are copied. All zero: full names, and only the system's default directories. */
struct hl_symbols_config {
	const char *const *paths; /* files and directories that are searched first */
	size_t n_paths;
	const char *sysroot;   /* root directory of the modules' paths; NULL: "/" */
	const char *cache_dir; /* directory of the symbol cache; NULL: no cache */
	const char *ellipsis;  /* replaces template arguments in display_name; NULL: full names */

	bool debuginfod; /* query the servers in DEBUGINFOD_URLS for missing files */
	/* Progress of a download; all: total bytes, 0 if not known. what NULL: the download
	 * ended. */
	void (*on_progress)(void *user, const char *what, uint64_t done, uint64_t all);
	/* The servers are not used any more; called at most once. */
	void (*on_fetch_failed)(void *user, const char *sentence);
	void *user;
};

int hl_symbols_new(struct hl_symbols **out);
/* Must be called before the first module is added. Returns 0 or -ENOMEM. */
int hl_symbols_configure(struct hl_symbols *s, const struct hl_symbols_config *c);
void hl_symbols_free(struct hl_symbols *s);

/* The kinds of files that a trace may embed. */
enum hl_symbols_file {
	HL_SYMBOLS_FILE_MODULE, /* the program or library itself */
	HL_SYMBOLS_FILE_DEBUG,  /* its debug file */
	HL_SYMBOLS_FILE_SHARED, /* a file that several debug files share (dwz) */
};
/*
 * Sets a source of embedded files; must be called before the first module is added. Embedded files
 * take precedence over files on disk, but not over --symbols. `open` returns a descriptor, which
 * the symbol reader then owns, or -errno. Files are identified by build-id, those without one (len
 * 0) by path.
 */
typedef int hl_symbols_open_fn(
	void *arg, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len);
void hl_symbols_use_embedded(struct hl_symbols *s, hl_symbols_open_fn *open, void *arg);
/*
 * Calls `fn` for each file that a module's names come from. The descriptor is valid during the
 * call. Returns 0, -ENOMEM, or the error of fn.
 */
typedef int hl_symbols_file_fn(void *arg, enum hl_symbols_file kind, const char *path, int fd,
	const uint8_t *id, size_t len);
int hl_symbols_files(struct hl_symbols_module *m, hl_symbols_file_fn *fn, void *arg);

/*
 * Adds a module, which s owns. Its file is opened by the first lookup. Returns 0 or -ENOMEM; a
 * module about which nothing is known is not an error.
 */
int hl_symbols_add(struct hl_symbols *s, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct hl_symbols_module **out);

/*
 * The frames at an offset, innermost first; the last one is the function that is not inlined. *n is
 * 0 if nothing is known. The array is valid until the next call, its strings as long as s. Returns
 * 0 or -ENOMEM.
 */
int hl_symbols_frames(struct hl_symbols_module *m, uint64_t offset,
	const struct hl_symbol_frame **frames, size_t *n);

/*
 * The bounds of the function without a name that the last call of hl_symbols_frames for this module
 * found no frames for, by the unwind tables of the file: [start, end). False if not known.
 */
bool hl_symbols_bounds(const struct hl_symbols_module *m, uint64_t *start, uint64_t *end);

/*
 * Sets *shown to the short form of a name from elsewhere. `name` must live as long as s; *shown
 * does. Returns 0 or -ENOMEM.
 */
int hl_symbols_display_name(struct hl_symbols *s, const char *name, const char **shown);

/*
 * Sets the recorded process and the start of its recording (0: not known); must be called before
 * the first module is added. hl_symbols_jit reads the file of names that a JIT of this process
 * wrote.
 */
void hl_symbols_process(struct hl_symbols *s, uint64_t pid, uint64_t since_unix_ns);
/* The name of the JIT code with return address pc; NULL if not known. Owned by s. */
const char *hl_symbols_jit(struct hl_symbols *s, uint64_t pc);

/* Opens the files if necessary. */
enum hl_symbols_state hl_symbols_state(struct hl_symbols_module *m);
/* A note for the user, without the path ("rebuilt since the recording"); "" if there is none. */
const char *hl_symbols_note(struct hl_symbols_module *m);
/*
 * Advice for the user: "apt install libgmp10-dbgsym", or the build-id to search for; "" if there is
 * none. Reads dpkg's lists, for at most 0.2 seconds in total. Owned by the module.
 */
const char *hl_symbols_advice(struct hl_symbols_module *m);

/* The functions of an ELF file, and those that its unwind tables do not cover (bare). */
struct hl_unwind_coverage {
	uint64_t functions, bytes, uncovered_functions, uncovered_bytes;
};

/* False: no functions or no tables were found. */
bool hl_symbols_unwind_coverage(int fd, struct hl_unwind_coverage *u);

#endif
