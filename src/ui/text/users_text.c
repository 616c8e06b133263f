/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/text/users_text.h"

#include "analysis/requests/users_wait.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

char *users_text(const struct run *run)
{
	struct users_wait users;
	char each[UNITS_BYTES];

	if (users_wait_of(&users, run) <= 0)
		return NULL;
	return text_format("each waits %s for a token, with up to %llu requests at once; a "
			   "phase's tokens and tokens/s are those of all requests",
		units_time(each, users.token_ns), (unsigned long long)users.at_once);
}

json_t *users_json(const struct run *run)
{
	struct users_wait users;

	if (users_wait_of(&users, run) <= 0)
		return json_null();
	json_t *json = json_object();
	json_put_numbers(json, &users, requests, at_once, tokens, token_ns);
	return json;
}
