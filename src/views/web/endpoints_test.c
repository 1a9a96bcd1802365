/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints_test.c - paths and the rows that they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "views/web/web_internal.h"

static void test_paths(void **state)
{
	static const struct {
		const char *method, *path, *found; /* NULL: none */
		unsigned trace;
		const char *word;
	} cases[] = {
		{"GET", "/", "/", 0, ""},
		{"HEAD", "/", "/", 0, ""},
		{"GET", "/api", "/api", 0, ""},
		{"GET", "/api/", NULL, 0, ""},
		{"GET", "/api/traces/12/info", "/api/traces/{trace}/info", 12, ""},
		{"GET", "/api/traces/12/table/module", "/api/traces/{trace}/table/{group}", 12,
			"module"},
		{"GET", "/api/traces/1/export/csv", "/api/traces/{trace}/export/{format}", 1,
			"csv"},
		{"GET", "/api/traces/0/info", NULL, 0, ""},
		{"GET", "/api/traces/01/info", NULL, 0, ""},
		{"GET", "/api/traces/-1/info", NULL, 0, ""},
		{"GET", "/api/traces/1x/info", NULL, 0, ""},
		{"GET", "/api/traces/99999999999999999999/info", NULL, 0, ""},
		{"GET", "/api/traces/1/export/../../x", NULL, 0, ""},
		{"GET", "/api/traces/1/table/", NULL, 0, ""},
		{"GET", "/traces/../etc/passwd", NULL, 0, ""},
		{"GET", "//api", NULL, 0, ""},
		{"DELETE", "/api/queries/5", "/api/queries/{query}", 0, "5"},
		{"POST", "/api/queries/5/cancel", "/api/queries/{query}/cancel", 0, "5"},
		{"POST", "/api", NULL, 0, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char word[64];
		unsigned trace;
		const char *allowed;
		const struct hl_web_endpoint *e = hl_web_endpoint_find(
			cases[i].method, cases[i].path, &trace, word, &allowed);

		if (!cases[i].found) {
			if (e)
				fail_msg("%s matches %s", cases[i].path, e->path);
			continue;
		}
		if (!e)
			fail_msg("%s matches nothing", cases[i].path);
		assert_string_equal(e->path, cases[i].found);
		assert_int_equal(trace, cases[i].trace);
		assert_string_equal(word, cases[i].word);
	}
}

static void test_method(void **state)
{
	char word[64];
	unsigned trace;
	const char *allowed;

	assert_null(hl_web_endpoint_find("POST", "/api", &trace, word, &allowed));
	assert_string_equal(allowed, "GET");
	assert_null(hl_web_endpoint_find("GET", "/none", &trace, word, &allowed));
	assert_null(allowed);
}

/* A parameter is found by its row, and its state is the right part of the query. */
static void test_parameters(void **state)
{
	char word[64];
	unsigned trace;
	const char *allowed;
	size_t offset;
	const struct hl_web_endpoint *e =
		hl_web_endpoint_find("GET", "/api/traces/1/timeline", &trace, word, &allowed);
	const struct hl_opt *o;

	assert_non_null(e);
	o = hl_web_endpoint_param(e, "width", &offset);
	assert_non_null(o);
	assert_int_equal(offset, 0);
	o = hl_web_endpoint_param(e, "range", &offset);
	assert_non_null(o);
	assert_int_equal(offset, offsetof(struct hl_web_query, request));
	assert_null(hl_web_endpoint_param(e, "limit", &offset));
	assert_null(hl_web_endpoint_param(e, "sites", &offset));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_method),
		cmocka_unit_test(test_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
