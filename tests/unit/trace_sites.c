/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what a slice's site is, and a queue's kernel: as files of version 1 tell it, as
 * descriptions do for all sequences, by fields or in JSON (before version 3), and descriptions that
 * are nonsense or another's.
 */
#include "tests/unit/trace_packets.h"

#define NORM "{\"layer\":1,\"op\":\"RMS_NORM\",\"tensor\":\"norm-1\",\"elements\":7}"
#define OTHER "{\"layer\":2,\"op\":\"MUL_MAT\",\"tensor\":\"out-2\"}"

struct text {
	const char *name;
	uint64_t number;
	const struct pb_buffer *facts; /* NULL: none */
};

/* A file of descriptors with one enum. */
static void describe(const char *package, const char *texts, const struct text *of, size_t count)
{
	size_t packet = packet_open(FORMAT_OWN_SEQUENCE, SEQUENCE_NEEDS_STATE);
	size_t extension = pb_open(&b, PACKET_EXTENSION_DESCRIPTOR);
	size_t set = pb_open(&b, EXTENSION_SET), file = pb_open(&b, SET_FILES);

	text(FILE_NAME, "any");
	text(FILE_PACKAGE, package);
	size_t numbers = pb_open(&b, FILE_ENUMS);
	text(ENUM_NAME, texts);
	for (size_t i = 0; i < count; i++) {
		size_t value = pb_open(&b, ENUM_VALUES);
		text(VALUE_NAME, of[i].name);
		pb_varint(&b, VALUE_NUMBER, of[i].number);
		if (of[i].facts)
			pb_string(&b, FORMAT_FACTS_FIELD, (const char *)of[i].facts->data,
				of[i].facts->size);
		pb_close(&b, value);
	}
	pb_close(&b, numbers);
	pb_close(&b, file);
	pb_close(&b, set);
	pb_close(&b, extension);
	pb_close(&b, packet);
}

static void describe_site(const char *name, uint64_t number)
{
	describe(FORMAT_PACKAGE, FORMAT_SITE_TEXTS, &(struct text){name, number, NULL}, 1);
}

/* A slice of 5 ns; `number` stands for its site in its extension, or as an interned value. */
static void sited(int interned, uint64_t number)
{
	size_t packet = pb_open(&b, TRACE_PACKET);

	pb_varint(&b, PACKET_TIMESTAMP, 1);
	pb_varint(&b, PACKET_SEQUENCE_ID, LANE);
	size_t event = pb_open(&b, PACKET_TRACK_EVENT);
	pb_varint(&b, EVENT_TYPE, EVENT_BEGIN);
	size_t said = pb_open(&b, interned ? EVENT_ANNOTATIONS : FORMAT_SITE_FIELD);
	if (interned)
		pb_varint(&b, ANNOTATION_NAME_IID, 1);
	pb_varint(&b, interned ? ANNOTATION_STRING_IID : FORMAT_S_SITE, number);
	pb_close(&b, said);
	pb_varint(&b, EVENT_CATEGORY_IIDS, 1);
	pb_varint(&b, EVENT_NAME_IID, 1);
	pb_close(&b, event);
	pb_close(&b, packet);
	end(5);
}

/* All samples that there are, `count`, are of that site. */
static void check_sites(uint64_t bad_packets, size_t count, const char *operation, int layer)
{
	struct run *run = load(bad_packets);

	assert_int_equal(run->lanes[0].sample_count, count);
	for (size_t i = 0; i < count; i++) {
		const struct run_site *site = &run->sites[run->lanes[0].samples[i].site];
		assert_string_equal(site->operation, operation);
		assert_int_equal(site->layer, layer);
		assert_int_equal(run->lanes[0].samples[i].end_ns, 1006 + 6 * i);
	}
	run_destroy(run);
}

static void of_version_1(void **state)
{
	(void)state;

	start();
	intern_packet(INTERNED_STRING_VALUES, 5, NORM);
	for (int i = 0; i < 3; i++)
		sited(1, 5);
	check_sites(0, 3, "RMS_NORM", 1);
}

/* The lane's packets neither intern it nor do they end what they know of each other. */
static void described(void **state)
{
	(void)state;

	start();
	describe_site(NORM, 300);
	for (int i = 0; i < 3; i++)
		sited(0, 300);
	describe_site(OTHER, 301);
	sited(0, 300);
	check_sites(0, 4, "RMS_NORM", 1);
}

/* Fields count, and not the text beside them; what is not known is absent. */
static void by_fields(void **state)
{
	struct pb_buffer facts = {0};

	(void)state;
	start();
	pb_varint(&facts, FORMAT_SITE_LAYER, 8);
	pb_string(&facts, FORMAT_SITE_OPERATION, "MUL\"MAT", 7);
	pb_string(&facts, FORMAT_SITE_OPERATION, "another", 7);
	pb_varint(&facts, FORMAT_SITE_FLOPS, 99);
	pb_varint(&facts, FORMAT_SITE_AT_MOST, 1);
	pb_varint(&facts, FORMAT_SITE_TENSOR, 3); /* no text */
	pb_varint(&facts, 77, 5);		  /* of later writers */
	describe(FORMAT_PACKAGE, FORMAT_SITE_TEXTS, &(struct text){NORM, 5, &facts}, 1);
	sited(0, 5);
	struct run *run = load(0);
	const struct run_site *site = &run->sites[run->lanes[0].samples[0].site];
	assert_int_equal(site->layer, 7);
	assert_string_equal(site->operation, "MUL\"MAT");
	assert_null(site->label);
	assert_int_equal(site->flops, 99);
	assert_int_equal(site->flags, BRICK_SITE_HAS_FLOPS | BRICK_SITE_AT_MOST);
	run_destroy(run);
	pb_buffer_fini(&facts);
}

/* Without anything in them: outside of layers. Cut off: no site. */
static void of_no_fields(void **state)
{
	struct pb_buffer facts = {0};

	(void)state;
	start();
	describe(FORMAT_PACKAGE, FORMAT_SITE_TEXTS, &(struct text){NORM, 5, &facts}, 1);
	sited(0, 5);
	struct run *run = load(0);
	const struct run_site *site = &run->sites[run->lanes[0].samples[0].site];
	assert_int_equal(site->layer, -1);
	assert_null(site->operation);
	assert_int_equal(site->flags, 0);
	run_destroy(run);
	start();
	pb_string(&facts, FORMAT_SITE_OPERATION, "MUL_MAT", 7);
	facts.size--;
	describe(FORMAT_PACKAGE, FORMAT_SITE_TEXTS, &(struct text){NORM, 5, &facts}, 1);
	sited(0, 5);
	check_sites(2, 0, NULL, 0);
	pb_buffer_fini(&facts);
}

/* What an interned value means depends on the sequence, what a described one means does not. */
static void both_in_one_file(void **state)
{
	(void)state;

	start();
	intern_packet(INTERNED_STRING_VALUES, 5, OTHER);
	describe_site(NORM, 5);
	sited(0, 5);
	sited(0, 5);
	check_sites(0, 2, "RMS_NORM", 1);
	start();
	describe_site(NORM, 5);
	intern_packet(INTERNED_STRING_VALUES, 5, OTHER);
	sited(1, 5);
	sited(1, 5);
	check_sites(0, 2, "MUL_MAT", 2);
}

static void of_several_the_first(void **state)
{
	(void)state;

	start();
	describe_site(NORM, 5);
	describe_site(OTHER, 5);
	sited(0, 5);
	sited(0, 5);
	check_sites(0, 2, "RMS_NORM", 1);
}

/* Enums of other names or packages, numbers without a meaning, and texts that are no site. */
static void nonsense(void **state)
{
	(void)state;

	start();
	describe(FORMAT_PACKAGE, "OperationText", &(struct text){NORM, 5, NULL}, 1);
	describe("other", FORMAT_SITE_TEXTS, &(struct text){NORM, 5, NULL}, 1);
	describe_site("{\"layer\":1", 6);
	sited(0, 5);
	sited(0, 6);
	sited(0, UINT64_MAX);
	check_sites(6, 0, NULL, 0);
	start();
	describe_site(NORM, 0);
	sited(0, 0);
	check_sites(3, 0, NULL, 0);
}

static void check_kernel(uint32_t registers)
{
	struct run *run = load(0);

	assert_int_equal(run->kernel_count, 1);
	const struct run_kernel *kernel = run->kernels;
	assert_string_equal(kernel->name, "gemv");
	assert_string_equal(kernel->backend, "null");
	assert_int_equal(kernel->kind, BRICK_KERNEL_D2H);
	assert_int_equal(kernel->grid[2], 3);
	assert_int_equal(kernel->block[0], 0);
	assert_int_equal(kernel->registers, registers);
	assert_int_equal(kernel->code, 0xab);
	run_destroy(run);
}

static void kernels(void **state)
{
	(void)state;
	start();
	intern_packet(INTERNED_STRING_VALUES, FORMAT_KERNEL_IID + 1,
		"{\"kind\":\"d2h\",\"name\":\"gemv\",\"backend\":\"null\",\"grid\":[1,2,3],"
		"\"registers\":9,\"code\":\"00000000000000ab\"}");
	check_kernel(9);
	start();
	size_t packet = packet_open(LANE, SEQUENCE_NEEDS_STATE);
	size_t interned = pb_open(&b, PACKET_INTERNED_DATA);
	size_t entry = pb_open(&b, INTERNED_STRING_VALUES);
	pb_varint(&b, ENTRY_IID, FORMAT_KERNEL_IID + 1);
	text(ENTRY_TEXT, "{\"name\":\"another\"}");
	size_t facts = pb_open(&b, FORMAT_FACTS_FIELD);
	pb_varint(&b, FORMAT_KERNEL_KIND, BRICK_KERNEL_D2H);
	text(FORMAT_KERNEL_NAME, "gemv");
	text(FORMAT_KERNEL_BACKEND, "null");
	for (uint64_t i = 1; i <= 4; i++) /* one too many */
		pb_varint(&b, FORMAT_KERNEL_GRID, i);
	pb_varint(&b, FORMAT_KERNEL_REGISTERS, UINT64_MAX);
	pb_varint(&b, FORMAT_KERNEL_CODE, 0xab);
	pb_close(&b, facts);
	pb_close(&b, entry);
	pb_close(&b, interned);
	pb_close(&b, packet);
	check_kernel(UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_version_1),
		cmocka_unit_test(described),
		cmocka_unit_test(by_fields),
		cmocka_unit_test(of_no_fields),
		cmocka_unit_test(both_in_one_file),
		cmocka_unit_test(of_several_the_first),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(kernels),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}
