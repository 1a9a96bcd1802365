/*
 * symbol.h - from (module, offset) to functions, files and lines, inlined calls included.
 *
 * A module's file is believed only if its build-id is the one that was recorded; without one, only
 * if it is older than the recording, or named by the user (paths). Offsets are
 * return addresses in the ELF file's own address space; they are looked up one byte earlier, in
 * the call. Names come from DWARF, else from the ELF symbol tables, of the file itself or of its
 * separate debug file. Nothing is fetched from a network unless asked to, and nothing that is not
 * a regular file is opened. One thread at a time.
 */
#ifndef HL_SYMBOL_SYMBOL_H
#define HL_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_symbols;
struct hl_symbols_module;

struct hl_symbol_frame {
	const char *function; /* demangled, in full */
	const char *shown;    /* the same for people, see hl_symbols_config.ellipsis */
	const char *file;     /* NULL when not known */
	uint32_t line;        /* 0 when not known */
	bool inlined;         /* its code stands inside the frame that follows */
};

/* How much a module can tell. */
enum hl_symbols_state {
	HL_SYMBOLS_FULL,    /* DWARF: files, lines, inlined calls */
	HL_SYMBOLS_NAMES,   /* ELF symbols only */
	HL_SYMBOLS_NOTHING, /* a file, but stripped */
	HL_SYMBOLS_NO_FILE, /* none there, or no regular ELF file, or no path ("[vdso]") */
	HL_SYMBOLS_REBUILT, /* a file, but another one than was recorded */
	HL_SYMBOLS_CHANGED, /* a file without build-id that was written after that */
};

/* Strings are copied. All zero: full names, from the system's own places. */
struct hl_symbols_config {
	const char *const *paths; /* files and folders that are searched first */
	size_t n_paths;
	const char *sysroot;   /* where the modules' paths begin; NULL: "/" */
	const char *cache_dir; /* answers are kept there for later; NULL: not at all */
	const char *ellipsis;  /* in `shown` this stands for template lists; NULL: in full */

	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS for what is not here */
	/* What is being fetched, and how far: of all bytes, 0 when not known. what NULL: it ended.
	 */
	void (*fetching)(void *user, const char *what, uint64_t done, uint64_t all);
	/* The servers are given up; called once at most. */
	void (*fetch_failed)(void *user, const char *sentence);
	void *user;
};

int hl_symbols_new(struct hl_symbols **out);
/* Before the first module is added. 0 or -ENOMEM. */
int hl_symbols_configure(struct hl_symbols *s, const struct hl_symbols_config *c);
void hl_symbols_free(struct hl_symbols *s);

/* The kinds of files that somebody may carry for us. */
enum hl_symbols_file {
	HL_SYMBOLS_FILE_MODULE, /* the program or library itself */
	HL_SYMBOLS_FILE_DEBUG,  /* its debug file */
	HL_SYMBOLS_FILE_SHARED, /* what several debug files share (dwz) */
};
/*
 * Before the first module is added: who may have files of his own. They are taken before those on
 * disk, but for what --symbols names. `open` gives a descriptor, which is then ours, or -errno.
 * Files are found by id, those without one (len 0) by path.
 */
typedef int hl_symbols_open_fn(
	void *arg, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len);
void hl_symbols_carry(struct hl_symbols *s, hl_symbols_open_fn *open, void *arg);
/*
 * The files that a module's names come from. Each is handed over with a descriptor that is good
 * during the call. 0, -ENOMEM, or what fn returned.
 */
typedef int hl_symbols_file_fn(void *arg, enum hl_symbols_file kind, const char *path, int fd,
	const uint8_t *id, size_t len);
int hl_symbols_files(struct hl_symbols_module *m, hl_symbols_file_fn *fn, void *arg);

/*
 * The module belongs to s. The file is opened at the first question. 0 or -ENOMEM: a module
 * that cannot tell anything is no error.
 */
int hl_symbols_add(struct hl_symbols *s, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct hl_symbols_module **out);

/*
 * The frames at an offset, innermost first; the last is the function that really stands there.
 * *n is 0 when nothing is known. The array is valid until the next call, its strings as long as
 * s. 0 or -ENOMEM.
 */
int hl_symbols_frames(struct hl_symbols_module *m, uint64_t offset,
	const struct hl_symbol_frame **frames, size_t *n);

/*
 * The `shown` form of a name from elsewhere, which lives as long as s; so does the answer. 0 or
 * -ENOMEM.
 */
int hl_symbols_shown(struct hl_symbols *s, const char *name, const char **shown);

/*
 * The process that is asked about, and since when it was recorded (0: not known); before the first
 * module is added. If it left a file of names for its JIT's code, hl_symbols_jit reads it.
 */
void hl_symbols_process(struct hl_symbols *s, uint64_t pid, uint64_t since_unix_ns);
/* The name of the code that returns to pc; NULL when not known. Lives as long as s. */
const char *hl_symbols_jit(struct hl_symbols *s, uint64_t pc);

/* Opens the file if need be. */
enum hl_symbols_state hl_symbols_state(struct hl_symbols_module *m);
/* What to tell the user about it, without the path ("rebuilt since the recording"); "" if nothing.
 */
const char *hl_symbols_note(struct hl_symbols_module *m);
/*
 * What would help: "apt install libgmp10-dbgsym", or the build-id to look for; "" if nothing
 * would or is known. Reads dpkg's lists, for 0.2 seconds in all. Lives as long as the module.
 */
const char *hl_symbols_advice(struct hl_symbols_module *m);

/* The functions of an ELF file, and those of them that its unwind tables do not cover. */
struct hl_unwindable {
	uint64_t functions, bytes, bare_functions, bare_bytes;
};

/* False: no functions or no tables were found. */
bool hl_symbols_unwindable(int fd, struct hl_unwindable *u);

#endif
