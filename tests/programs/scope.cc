/* SPDX-License-Identifier: Apache-2.0 */
/* The scope macro in C++, unwound by return and by an exception; prints what was counted. */
#include <cstdio>
#include <stdexcept>
#include "brick/brick.h"

static int early(int n)
{
	BRICK_SCOPE(BRICK_LM_HEAD);
	brick::scope inner(BRICK_SAMPLING, 3);
	if (n % 2)
		return 1;
	return 0;
}

static void throws()
{
	BRICK_SCOPE(BRICK_EMBEDDING);
	throw std::runtime_error("out");
}

int main(int argc, char **argv)
{
	brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	options.output = argc > 1 ? argv[1] : nullptr;
	if (brick_session_start(&options) < 0)
		return 1;
	for (int i = 0; i < 10; i++)
		early(i);
	for (int i = 0; i < 5; i++) {
		try {
			throws();
		} catch (const std::runtime_error &) {
		}
	}
	int value = BRICK_TIMED(BRICK_ROPE_EMBEDDING, 6 * 7);
	brick_losses losses = BRICK_LOSSES_INIT;
	brick_losses_get(&losses);
	std::printf("%d", value);
	for (int id : {13, 14, 12, 3}) {
		brick_stats stats = BRICK_STATS_INIT;
		brick_stats_get(id, &stats);
		std::printf(" %llu", static_cast<unsigned long long>(stats.count));
	}
	std::printf(" unmatched %llu\n", static_cast<unsigned long long>(losses.unmatched));
	return brick_session_stop() < 0;
}
