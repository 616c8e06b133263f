/* SPDX-License-Identifier: Apache-2.0 */
/* Description: who may read what `brick serve` shows: tokens, names of hosts, addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "ui/serve/access.h"

static void tokens(void **state)
{
	(void)state;
	assert_true(access_token("0123456789abcdef", "0123456789abcdef"));
	assert_false(access_token("0123456789abcdeF", "0123456789abcdef"));
	assert_false(access_token("0123456789abcde", "0123456789abcdef"));
	assert_false(access_token("0123456789abcdef0123456789abcdef", "0123456789abcdef"));
	assert_false(access_token("", "0123456789abcdef"));
	assert_false(access_token(NULL, "0123456789abcdef"));
	assert_false(access_token("", ""));
}

static void bearers(void **state)
{
	(void)state;
	assert_string_equal(access_bearer("Bearer abc"), "abc");
	assert_string_equal(access_bearer("bearer   abc"), "abc");
	assert_null(access_bearer("Basic abc"));
	assert_null(access_bearer("Bearer"));
	assert_null(access_bearer(NULL));
}

static void hosts(void **state)
{
	static const char *const good[] = {"localhost", "LOCALHOST:80", "127.0.0.1",
		"127.0.0.1:9477", "127.8.9.1", "[::1]", "[::1]:9477"};
	static const char *const bad[] = {"", "evil.example", "localhost.evil.example",
		"127.0.0.1.evil.example", "127.0.0.1:80@evil", "10.0.0.1", "[::2]", "[::1",
		"[::1]x", "::1", "[127.0.0.1]", "localhost:8x", "0.0.0.0", "127.0.0.1 ",
		"[::ffff:10.0.0.1]", "localhost:80:80"};
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!access_is_local(good[i]))
			fail_msg("%s is local", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (access_is_local(bad[i]))
			fail_msg("%s is not local", bad[i]);
	assert_false(access_is_local(NULL));
}

static void addresses(void **state)
{
	(void)state;
	assert_true(access_is_loopback("127.0.0.1"));
	assert_true(access_is_loopback("::1"));
	assert_false(access_is_loopback("0.0.0.0"));
	assert_false(access_is_loopback("::"));
	assert_false(access_is_loopback("192.168.0.1"));
	assert_false(access_is_loopback("localhost"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
		cmocka_unit_test(bearers),
		cmocka_unit_test(hosts),
		cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
