/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that begin with their size, as programs of older and newer versions hand them in: what is
 * missing has its default, what is unknown must be 0, what is reserved must be 0, and a result is
 * never written beyond the size that the program gave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "base/sized.h"
#include "brick/brick.h"
#include "brick/graph_path.h"

/* A later version's struct: ours, and a field that we do not know. */
struct later_site {
	struct brick_site site;
	uint64_t unknown;
};

struct later_losses {
	struct brick_losses losses;
	uint64_t unknown;
};

static void test_a_forgotten_size_is_refused(void **state)
{
	struct brick_site site = {.brick = BRICK_RMS_NORM};
	struct brick_session_options options = {.mode = BRICK_MODE_DEFERRED};
	struct brick_queue_options queue = {.name = "q"};
	struct brick_tensor tensor = {.dtype = BRICK_DTYPE_F32};
	struct brick_queue *made;
	struct brick_digest digest;

	assert_int_equal(brick_site_register(&site), -EINVAL);
	assert_int_equal(brick_session_start(&options), -EINVAL);
	assert_int_equal(brick_queue_create(&made, &queue), -EINVAL);
	assert_int_equal(brick_digest_compute(&digest, &tensor), -EINVAL);
	assert_int_equal(brick_kernel_register(&(struct brick_kernel){.name = "k"}), 0);
}

static void test_a_forgotten_size_of_a_result_is_refused(void **state)
{
	struct brick_stats stats = {0};
	struct brick_losses losses = {0};
	struct brick_counted_stats counted = {0};

	assert_int_equal(brick_session_start(NULL), 0);
	brick_end(brick_begin(BRICK_RMS_NORM));
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), -EINVAL);
	assert_int_equal(brick_category_stats_get(BRICK_CATEGORY_NORM, &stats), -EINVAL);
	assert_int_equal(brick_losses_get(&losses), -EINVAL);
	assert_int_equal(brick_counted_stats_get(BRICK_RMS_NORM, &counted), -EINVAL);
	assert_int_equal(brick_session_stop(), 0);
}

static void test_what_is_reserved_is_checked(void **state)
{
	struct brick_site site = BRICK_SITE_INIT;
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_queue_options queue = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *made;

	site.reserved = queue.reserved = 1;
	options.off_cpu = BRICK_OFF_CPU_OFF + 1;
	assert_int_equal(brick_site_register(&site), -EINVAL);
	assert_int_equal(brick_session_start(&options), -EINVAL);
	assert_int_equal(brick_queue_create(&made, &queue), -EINVAL);
}

static void test_unknown_flags_layers_and_bricks_are_refused(void **state)
{
	struct brick_site site = BRICK_SITE_INIT;
	struct brick_queue_options queue = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_tensor tensor = BRICK_TENSOR_INIT;
	struct brick_queue *made;
	struct brick_digest digest;
	float x = 1;

	site.flags = 1u << 31;
	assert_int_equal(brick_site_register(&site), -EINVAL);
	site.flags = 0;
	site.layer = INT16_MAX + 1;
	assert_int_equal(brick_site_register(&site), -EINVAL);
	site.layer = -2;
	assert_int_equal(brick_site_register(&site), -EINVAL);
	site.layer = -1;
	site.brick = UINT16_MAX + 1; /* of which 16 bits are RmsNorm */
	assert_int_equal(brick_site_register(&site), -EINVAL);
	queue.flags = 1u << 31;
	assert_int_equal(brick_queue_create(&made, &queue), -EINVAL);
	tensor.data = &x;
	tensor.dtype = BRICK_DTYPE_F32;
	tensor.flags = 1u << 31;
	assert_int_equal(brick_digest_compute(&digest, &tensor), -EINVAL);
}

static void test_a_later_program_may_leave_its_new_fields_unset(void **state)
{
	struct later_site later = {.site = BRICK_SITE_INIT};

	later.site.size = sizeof later;
	later.site.brick = BRICK_LM_HEAD;
	assert_true(brick_site_register(&later.site) > 0);
	later.unknown = 1;
	assert_int_equal(brick_site_register(&later.site), -E2BIG);
}

static void test_a_later_program_gets_0_for_what_is_not_known(void **state)
{
	struct later_losses later = {.losses = BRICK_LOSSES_INIT, .unknown = 7};

	later.losses.size = sizeof later;
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_losses_get(&later.losses), 0);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(later.unknown, 0);
	assert_int_equal(later.losses.size, sizeof later);
}

static void test_an_older_program_is_not_written_beyond_its_size(void **state)
{
	struct brick_losses losses = {.size = offsetof(struct brick_losses, clamped), .clamped = 7};

	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(losses.clamped, 7);
}

static void test_an_older_program_gets_defaults(void **state)
{
	struct {
		size_t size;
		int first, second;
	} own = {sizeof own, 1, 2}, given = {offsetof(__typeof__(own), second), 5, 6};

	assert_int_equal(sized_read(&own, sizeof own, &given), 0);
	assert_int_equal(own.first, 5);
	assert_int_equal(own.second, 2);
	assert_int_equal(own.size, sizeof own);
}

static void test_an_absurd_size_is_refused(void **state)
{
	struct brick_losses losses = {.size = SIZE_MAX};

	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_losses_get(&losses), -EINVAL);
	assert_int_equal(brick_session_stop(), 0);
}

static void test_an_unknown_phase_begins_nothing(void **state)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_step_begin((enum brick_phase)2, 1), 0);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 1);
	assert_int_equal(brick_session_stop(), 0);
}

/* A later version's array of results: every element is as large as the first one says. */
static void test_a_graph_knows_sizes_too(void **state)
{
	struct {
		struct brick_graph_opportunity one;
		uint64_t unknown;
	} best[2] = {{.one = {.size = sizeof best[0]}, .unknown = 7}, {.unknown = 7}};
	struct brick_graph_opportunity forgotten = {0};
	struct brick_graph_node node = {.kind = BRICK_NODE_BRICK, .name = "a"};
	struct brick_graph_path path = {0};
	struct brick_graph *graph;

	assert_int_equal(brick_graph_create(&graph), 0);
	assert_int_equal(brick_graph_add(graph, &node), -EINVAL);
	node.size = sizeof node;
	node.flags = BRICK_NODE_HAS_TIME;
	node.time_ns = 10;
	assert_int_equal(brick_graph_add(graph, &node), 0);
	node.name = "b";
	assert_int_equal(brick_graph_add(graph, &node), 1);
	assert_int_equal(brick_graph_connect(graph, 0, 1, BRICK_EDGE_SEQUENCE, 0), 0);
	assert_int_equal(brick_graph_critical_path(graph, &path), -EINVAL);
	assert_int_equal(brick_graph_opportunities(graph, &forgotten, 1), -EINVAL);
	assert_int_equal(brick_graph_opportunities(graph, &best[0].one, 2), 2);
	assert_string_equal(best[0].one.name, "a");
	assert_string_equal(best[1].one.name, "b");
	assert_int_equal(best[1].one.size, sizeof best[0]);
	assert_int_equal(best[0].unknown + best[1].unknown, 0);
	brick_graph_destroy(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_forgotten_size_is_refused),
		cmocka_unit_test(test_a_forgotten_size_of_a_result_is_refused),
		cmocka_unit_test(test_what_is_reserved_is_checked),
		cmocka_unit_test(test_unknown_flags_layers_and_bricks_are_refused),
		cmocka_unit_test(test_a_later_program_may_leave_its_new_fields_unset),
		cmocka_unit_test(test_a_later_program_gets_0_for_what_is_not_known),
		cmocka_unit_test(test_an_older_program_is_not_written_beyond_its_size),
		cmocka_unit_test(test_an_older_program_gets_defaults),
		cmocka_unit_test(test_an_absurd_size_is_refused),
		cmocka_unit_test(test_an_unknown_phase_begins_nothing),
		cmocka_unit_test(test_a_graph_knows_sizes_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
