/* SPDX-License-Identifier: Apache-2.0 */
/* access_test.c - hosts, origins and tokens that are accepted and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "views/web/web_internal.h"

static const char *const hosts[] = {"box.example"};

static void init(struct hl_web_access *a, bool no_token)
{
	struct hl_web_options o = {.hosts = hosts, .n_hosts = 1, .no_token = no_token};

	assert_int_equal(hl_web_access_init(a, &o, 7777), 0);
}

static void test_host(void **state)
{
	static const struct {
		const char *host;
		bool ok;
	} cases[] = {
		{"127.0.0.1:7777", true},
		{"127.0.0.1", true},
		{"localhost:8080", true}, /* ssh -L */
		{"LOCALHOST", true},
		{"[::1]:7777", true},
		{"10.0.0.7:7777", true},
		{"box.example:7777", true},
		{"evil.example", false},
		{"localhost.evil.example", false},
		{"127.0.0.1.evil.example:7777", false},
		{"evil.example:127.0.0.1", false},
		{"127.0.0.1:", false},
		{"127.0.0.1:80x", false},
		{"[::1", false},
		{"::1", false},
		{"", false},
		{NULL, false},
	};
	struct hl_web_access a;

	init(&a, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hl_web_access_host(&a, cases[i].host) != cases[i].ok)
			fail_msg("host \"%s\" is %s", cases[i].host ? cases[i].host : "(none)",
				cases[i].ok ? "refused" : "accepted");
	}
}

static void test_origin(void **state)
{
	assert_true(hl_web_access_origin(NULL, "localhost:7777"));
	assert_true(hl_web_access_origin("http://localhost:7777", "localhost:7777"));
	assert_false(hl_web_access_origin("http://localhost:7778", "localhost:7777"));
	assert_false(hl_web_access_origin("https://localhost:7777", "localhost:7777"));
	assert_false(hl_web_access_origin("http://evil.example", "localhost:7777"));
	assert_false(hl_web_access_origin("null", "localhost:7777"));
	assert_false(hl_web_access_origin("", "localhost:7777"));
}

static void test_control(void **state)
{
	assert_false(hl_web_access_control(NULL, NULL));
	assert_true(hl_web_access_control("Bearer 1", NULL));
	assert_true(hl_web_access_control(NULL, "http://localhost:7777")); /* it was checked */
}

static void test_token(void **state)
{
	struct hl_web_access a, b;
	char text[128];

	init(&a, false);
	init(&b, false);
	assert_int_equal(strlen(a.token), 32);
	assert_string_not_equal(a.token, b.token);
	assert_int_equal(hl_web_access_check(&a, NULL, NULL, NULL), HL_WEB_REFUSED);
	assert_int_equal(hl_web_access_check(&a, NULL, NULL, a.token), HL_WEB_GRANTED_BY_URL);
	assert_int_equal(hl_web_access_check(&a, NULL, NULL, b.token), HL_WEB_REFUSED);
	assert_int_equal(hl_web_access_check(&a, NULL, NULL, ""), HL_WEB_REFUSED);
	snprintf(text, sizeof(text), "Bearer %s", a.token);
	assert_int_equal(hl_web_access_check(&a, text, NULL, NULL), HL_WEB_GRANTED);
	text[strlen(text) - 1] ^= 1;
	assert_int_equal(hl_web_access_check(&a, text, NULL, NULL), HL_WEB_REFUSED);
	snprintf(text, sizeof(text), "Basic %s", a.token);
	assert_int_equal(hl_web_access_check(&a, text, NULL, NULL), HL_WEB_REFUSED);
	snprintf(text, sizeof(text), "a=b; heaplapse-7777=%s; c=d", a.token);
	assert_int_equal(hl_web_access_check(&a, NULL, text, NULL), HL_WEB_GRANTED);
	snprintf(text, sizeof(text), "heaplapse-7778=%s", a.token);
	assert_int_equal(hl_web_access_check(&a, NULL, text, NULL), HL_WEB_REFUSED);
	snprintf(text, sizeof(text), "heaplapse-7777=%s0", a.token);
	assert_int_equal(hl_web_access_check(&a, NULL, text, NULL), HL_WEB_REFUSED);
	init(&a, true);
	assert_int_equal(hl_web_access_check(&a, NULL, NULL, NULL), HL_WEB_GRANTED);
}

static void test_loopback(void **state)
{
	assert_true(hl_web_is_loopback(NULL));
	assert_true(hl_web_is_loopback("127.0.0.1"));
	assert_true(hl_web_is_loopback("127.9.9.9"));
	assert_true(hl_web_is_loopback("::1"));
	assert_false(hl_web_is_loopback("0.0.0.0"));
	assert_false(hl_web_is_loopback("::"));
	assert_false(hl_web_is_loopback("10.0.0.1"));
	assert_false(hl_web_is_loopback("localhost"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_origin),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
