/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter_test.c - which programs and libraries are interpreters, and which are only named
 * alike; libraries without frames; sizes of the lines.
 */
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/views/interpreter.h"
#include "model/testing/test_fake_traces.h"

#define SUMMARY_BRIEF_MAX 66 /* at 80 columns, behind the name */

static void names_of_programs(void **state)
{
	static const struct {
		const char *path, *language;
	} rows[] = {
		{"/usr/bin/python3.11", "Python"},
		{"python", "Python"},
		{"/usr/bin/python3.11-dbg", "Python"},
		{"/opt/node/bin/node", "JavaScript"},
		{"/usr/bin/nodejs", "JavaScript"},
		{"/usr/lib/jvm/java-17-openjdk/bin/java", "Java"},
		{"/usr/bin/ruby3.1", "Ruby"},
		{"/usr/bin/perl", "Perl"},
		{"/usr/sbin/php-fpm8.2", "PHP"},
		{"/usr/bin/lua5.4", "Lua"},
		{"/usr/bin/luajit", "Lua"},
		{"/usr/bin/guile-3.0", "Scheme"},
		{"/usr/bin/dotnet", ".NET"},
		{"/usr/lib/wine/wine64", "Wine"},
		{"/usr/bin/python3-config", NULL},
		{"/usr/bin/nodemon", NULL},
		{"/usr/bin/javac", NULL},
		{"/usr/bin/perldoc", NULL},
		{"/python3/app", NULL},
		{"/usr/bin/gonode", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		const struct hl_interpreter *found = hl_interpreter_by_program(rows[i].path);

		if (strcmp(found ? found->language : "", rows[i].language ? rows[i].language : ""))
			fail_msg("%s: %s", rows[i].path, found ? found->language : "none");
	}
}

static void names_of_libraries(void **state)
{
	static const struct {
		const char *path, *language;
	} rows[] = {
		{"/usr/lib/libpython3.11.so.1.0", "Python"},
		{"/usr/lib/jvm/java-17-openjdk/lib/server/libjvm.so", "Java"},
		{"libnode.so.108", "JavaScript"},
		{"libruby-3.1.so.3.1", "Ruby"},
		{"libperl.so.5.36", "Perl"},
		{"libphp8.2.so", "PHP"},
		{"liblua5.4.so.0", "Lua"},
		{"libluajit-5.1.so.2", "Lua"},
		{"libguile-3.0.so.1", "Scheme"},
		{"libcoreclr.so", ".NET"},
		{"libpythonic.so", NULL},
		{"libboost_python311.so.1.74.0", NULL},
		{"libpython3.11.a", NULL},
		{"libpython", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		const struct hl_interpreter *found = hl_interpreter_by_library(rows[i].path);

		if (strcmp(found ? found->language : "", rows[i].language ? rows[i].language : ""))
			fail_msg("%s: %s", rows[i].path, found ? found->language : "none");
		if (found)
			assert_in_range(strlen(found->brief), 1, SUMMARY_BRIEF_MAX);
	}
}

/* A trace of /bin/app with a frame in module `frame_in` of: itself, libpython, libfoo. */
static void find_in_trace(const char *program, uint32_t frame_in, const char *want, bool in_library)
{
	static const char *const modules[] = {
		"/bin/app", "/lib/libpython3.11.so.1.0", "/lib/libfoo.so"};
	struct hl_meta meta = {.program = program, .command = "", .mode = "trace"};
	struct hl_node node = {.parent = HL_NODE_NONE, .module = frame_in, .offset = 16};
	struct hl_writer_options wo = {.max_events = 64};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_interpreter_found found;
	char path[] = "/tmp/hl-interpreter-XXXXXX";
	struct hl_writer *w;
	struct hl_model *m;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &wo), 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(modules); i++)
		hl_writer_add_module(w, &(struct hl_module){.path = modules[i]});
	hl_writer_add_node(w, &node);
	hl_writer_add_thread(w, 1);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	m = open_model(path);
	assert_int_equal(hl_interpreter_find(m, &found), 0);
	assert_string_equal(found.is ? found.is->language : "none", want);
	assert_string_equal(found.library ? found.library : "none",
		in_library ? "libpython3.11.so.1.0" : "none");
	hl_model_close(m);
	unlink(path);
}

static void traces(void **state)
{
	find_in_trace("/usr/bin/ruby", 2, "Ruby", false);
	/* The program's own name comes first. */
	find_in_trace("/usr/bin/ruby", 1, "Ruby", false);
	/* Linked with libpython, which allocates; and without a frame in it. */
	find_in_trace("/bin/app", 1, "Python", true);
	find_in_trace("/bin/app", 2, "none", false);
	find_in_trace("/bin/app", 0, "none", false);
	find_in_trace("", 2, "none", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_programs),
		cmocka_unit_test(names_of_libraries),
		cmocka_unit_test(traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
