/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.c - recognizes interpreters by the names of programs and libraries; see
 * interpreter.h.
 *
 * A library counts only if stacks have frames of it: many programs are linked with libpython for
 * plugins that they seldom load.
 */
#include "model/views/interpreter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model_internal.h"

struct row {
	const char *programs;  /* names without version, separated by spaces */
	const char *libraries; /* the same, without ".so"; "": none */
	struct hl_interpreter is;
};

static const struct row rows[] = {
	{"python", "libpython",
		{"Python", "small objects only with PYTHONMALLOC=malloc; frames of C only",
			"objects up to 512 bytes are in arenas of the interpreter and recorded "
			"one by one only with PYTHONMALLOC=malloc in the environment; stacks have "
			"frames of C, not of Python"}},
	{"java", "libjvm",
		{"Java", "native memory only, no objects; a perf map names Java frames",
			"objects are in the JVM's own heap, which is not recorded; native "
			"memory is. Java frames have names with java "
			"-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
			"-XX:+PreserveFramePointer"}},
	{"node nodejs", "libnode",
		{"JavaScript", "native memory only, no objects; --perf-basic-prof names frames",
			"objects are in V8's own heap, which is not recorded; native "
			"memory and buffers are. JavaScript frames have names with node "
			"--perf-basic-prof --interpreted-frames-native-stack"}},
	{"ruby", "libruby",
		{"Ruby", "objects are in pages of the interpreter; frames of C only",
			"objects are in pages of the interpreter and not recorded one by one; "
			"contents that do not fit into an object are. Stacks have frames of C, "
			"not of Ruby"}},
	{"perl", "libperl",
		{"Perl", "small values are in arenas; frames of C only",
			"small values are in arenas of 4 KiB, which are recorded as a whole; "
			"strings and arrays are recorded one by one. Stacks have frames of C, not "
			"of Perl"}},
	{"php php-fpm php-cgi phpdbg", "libphp",
		{"PHP", "each allocation only with USE_ZEND_ALLOC=0; frames of C only",
			"allocations are in PHP's own heap and recorded one by one only with "
			"USE_ZEND_ALLOC=0 in the environment; stacks have frames of C, not of "
			"PHP"}},
	{"luajit", "libluajit",
		{"Lua", "native memory only, no objects",
			"objects are in LuaJIT's own heap, which is not recorded; native memory "
			"is"}},
	{"lua texlua", "liblua",
		{"Lua", "each object is recorded; frames of C only",
			"each object is recorded; stacks have frames of C, not of Lua"}},
	{"guile", "libguile",
		{"Scheme", "native memory only, no objects",
			"objects are in the heap of Guile's garbage collector, which is not "
			"recorded; native memory is"}},
	{"dotnet mono", "libcoreclr libmonosgen",
		{".NET", "native memory only, no objects",
			"managed objects are in the runtime's own heap, which is not recorded; "
			"native memory is. Frames have names with DOTNET_PerfMapEnabled=1 in the "
			"environment"}},
	{"wine wine64 wine-preloader wine64-preloader", "",
		{"Wine", "only memory of Wine's Unix libraries",
			"the heaps of Windows programs are Wine's own and not recorded; the "
			"memory of its Unix libraries is"}},
};

static const struct hl_interpreter go = {"Go", "memory of C code only, no objects",
	"objects are in the heap of Go's garbage collector, which is not recorded; memory of C "
	"code is"};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "3.11", "-3.0", "3.11-dbg": the rest of the name of a program. */
static bool is_version(const char *rest)
{
	rest += strspn(rest, "0123456789.-");
	return !*rest || strcmp(rest, "dbg") == 0;
}

/* "3.11.so.1.0", "-3.0.so.1", ".so": the rest of the name of a library. */
static bool is_library_version(const char *rest)
{
	return strncmp(rest + strspn(rest, "0123456789.-"), "so", 2) == 0 && *rest != 's';
}

static bool matches(const char *list, const char *name, bool (*is_rest)(const char *rest))
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (strncmp(name, list, n) == 0 && is_rest(name + n))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

/* With the environment that the notes about Python and PHP advise. */
static const struct hl_interpreter python_malloc = {"Python",
	"each object is recorded; frames of C only",
	"each object is recorded (PYTHONMALLOC); stacks have frames of C, not of Python"};
static const struct hl_interpreter php_malloc = {"PHP",
	"each allocation is recorded; frames of C only",
	"each allocation is recorded (USE_ZEND_ALLOC=0); stacks have frames of C, not of PHP"};

static const struct hl_interpreter *choose_by_environment(
	const struct hl_interpreter *is, const struct hl_meta *meta)
{
	if (is && meta->python_malloc && strcmp(is->language, python_malloc.language) == 0)
		return &python_malloc;
	if (is && meta->php_malloc && strcmp(is->language, php_malloc.language) == 0)
		return &php_malloc;
	return is;
}

const struct hl_interpreter *hl_interpreter_by_program(const char *path)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		if (matches(rows[i].programs, base_name(path), is_version))
			return &rows[i].is;
	}
	return NULL;
}

const struct hl_interpreter *hl_interpreter_by_library(const char *path)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		if (matches(rows[i].libraries, base_name(path), is_library_version))
			return &rows[i].is;
	}
	return NULL;
}

const struct hl_interpreter *hl_interpreter_by_file(const struct hl_elf_file *f)
{
	return hl_elf_file_has_section(f, ".go.buildinfo") ? &go : NULL;
}

/* Whether the file is still the one that was recorded. */
static bool is_build(const struct hl_elf_file *f, const struct hl_module *module)
{
	uint8_t id[HL_BUILD_ID_MAX];
	uint32_t len = hl_elf_file_build_id(f, id);

	return len > 0 && len == module->build_id_len && memcmp(id, module->build_id, len) == 0;
}

static const struct hl_interpreter *find_by_file(const struct hl_module *module)
{
	const struct hl_interpreter *found = NULL;
	int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct hl_elf_file f;

	if (fd < 0)
		return NULL;
	if (hl_elf_file_open(&f, fd) == 0 && is_build(&f, module))
		found = hl_interpreter_by_file(&f);
	hl_elf_file_close(&f);
	close(fd);
	return found;
}

/* libraries[i] receives the interpreter that module i is. Returns whether there is one. A module or
 * node whose definition is in a damaged part of the file counts as none. */
static bool find_libraries(struct hl_model *m, const struct hl_interpreter **libraries, uint32_t n,
	struct hl_interpreter_found *found)
{
	struct hl_module module;
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		if (hl_reader_module(m->reader, i, &module) || !module.path)
			continue;
		libraries[i] = hl_interpreter_by_library(module.path);
		any |= libraries[i] != NULL;
		if (!found->is && strcmp(module.path, m->info->meta.program) == 0)
			found->is = find_by_file(&module);
	}
	return any;
}

/* Finds the library of the first frame that is in one. */
static void find_frame(struct hl_model *m, const struct hl_interpreter *const *libraries,
	uint32_t n, struct hl_interpreter_found *found)
{
	struct hl_module module;
	struct hl_node node;

	for (uint32_t i = 0; i < m->n_nodes && !found->is; i++) {
		if (hl_reader_node(m->reader, i, &node) || node.module >= n ||
			!libraries[node.module] ||
			hl_reader_module(m->reader, node.module, &module))
			continue;
		found->is = libraries[node.module];
		found->library = base_name(module.path);
	}
}

static int find(struct hl_model *m, struct hl_interpreter_found *found)
{
	const struct hl_interpreter **libraries = NULL;
	uint32_t n = 0;
	int err;

	*found = (struct hl_interpreter_found){0};
	if (!m->info->meta.program)
		return 0;
	found->is = hl_interpreter_by_program(m->info->meta.program);
	if (found->is)
		return 0;
	err = hl_reader_n_modules(m->reader, &n);
	if (err)
		return hl_model_fail(m, err);
	libraries = calloc((size_t)n + 1, sizeof(const struct hl_interpreter *));
	if (!libraries)
		return hl_model_fail(m, -ENOMEM);
	if (find_libraries(m, libraries, n, found) && !found->is)
		find_frame(m, libraries, n, found);
	free(libraries);
	return 0;
}

int hl_interpreter_find(struct hl_model *m, struct hl_interpreter_found *found)
{
	int err = find(m, found);

	found->is = choose_by_environment(found->is, &m->info->meta);
	return err;
}

void hl_interpreter_put(struct hl_strbuf *b, const struct hl_interpreter_found *found)
{
	hl_strbuf_puts(b, found->is->language);
	if (found->library)
		hl_strbuf_printf(b, " in %s", found->library);
	hl_strbuf_printf(b, ": %s", found->is->text);
}
