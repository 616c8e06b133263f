/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the parts of the CUDA attachment that need no driver: cubins of any content, kernels
 * by module, nodes of graphs, calls by their names, calls whose records are still to come, what
 * events put in order, streams that others time, and what is forgotten along with a context.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "attach/cuda/modules.h"
#include "attach/cuda/cuda_graphs.h"

/* An ELF file whose first section is the table of names, and a section per kernel. */
static size_t make_cubin(unsigned char *out, size_t capacity, const char *const *kernels, int count)
{
	size_t names = sizeof(Elf64_Ehdr) + (size_t)(count + 1) * sizeof(Elf64_Shdr), used = 1;
	Elf64_Ehdr elf = {.e_shoff = sizeof elf,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(count + 1)};

	memset(out, 0, capacity);
	memcpy(elf.e_ident, ELFMAG, SELFMAG);
	elf.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(out, &elf, sizeof elf);
	for (int i = 0; i < count; i++) {
		Elf64_Shdr section = {.sh_name = (uint32_t)used};
		memcpy(out + sizeof elf + (size_t)(i + 1) * sizeof section, &section,
			sizeof section);
		used += (size_t)sprintf((char *)out + names + used, ".text.%s", kernels[i]) + 1;
	}
	Elf64_Shdr table = {.sh_offset = names, .sh_size = used};
	memcpy(out + sizeof elf, &table, sizeof table);
	assert_true(names + used <= capacity);
	return names + used;
}

static void append(void *context, const char *name)
{
	char *list = context;
	if (strlen(list) + strlen(name) < 4000)
		strcat(strcat(list, name), " ");
}

static void cubin_of_any_content(void **state)
{
	static const char *const kernels[] = {"scale", "_Z3addPfPKfj"};
	unsigned char good[1024];
	size_t bytes = make_cubin(good, sizeof good, kernels, 2);
	char found[4096] = "";

	assert_int_equal(cubin_names(good, bytes, append, found), 2);
	assert_string_equal(found, "scale _Z3addPfPKfj ");
	assert_int_equal(cubin_names(NULL, 0, append, found), 0);
	assert_int_equal(cubin_names("PTX", 3, append, found), 0);
	for (size_t size = 0; size <= bytes; size++) {
		unsigned char *cut = malloc(size ? size : 1); /* its end is watched by sanitizers */
		memcpy(cut, good, size);
		found[0] = '\0';
		assert_true(cubin_names(cut, size, append, found) <= 2);
		free(cut);
	}
	for (size_t at = 0; at < bytes; at++)
		for (int bit = 0; bit < 8; bit++) {
			unsigned char *bent = malloc(bytes);
			memcpy(bent, good, bytes);
			bent[at] ^= (unsigned char)(1 << bit);
			found[0] = '\0';
			cubin_names(bent, bytes, append, found);
			free(bent);
		}
}

static void kernels_by_module(void **state)
{
	static const char *const first[] = {"gemm", "norm"}, *const second[] = {"gemm"};
	unsigned char a[1024], b[1024];
	size_t a_bytes = make_cubin(a, sizeof a, first, 2), b_bytes;

	assert_int_equal(modules_code("gemm"), 0);
	modules_loaded(1, a, a_bytes, 0);
	uint64_t code = modules_code("gemm");
	assert_true(code != 0 && code == modules_code("norm"));
	assert_int_equal(modules_code("other"), 0);
	modules_loaded(2, a, a_bytes, 0); /* the same again, in another context say */
	assert_true(modules_code("gemm") == code);
	b_bytes = make_cubin(b, sizeof b, second, 1);
	modules_loaded(3, b, b_bytes, 77);
	assert_int_equal(modules_code("gemm"), 0); /* either */
	assert_true(modules_code("norm") == code);
	modules_unloading(2);
	assert_int_equal(modules_code("gemm"), 0);
	modules_loaded(4, b, b_bytes, 78);
	assert_int_equal(modules_code("gemm"), 78);
	modules_loaded(5, NULL, 9, 0);
	modules_loaded(6, a, 0, 0);
}

static void sources(void **state)
{
	static const char fatbin[] = "\x50\xed\x55\xba\x01";

	assert_int_equal(modules_source(NULL), 0);
	assert_int_equal(modules_source("\x7f"
					"ELF"),
		0);
	assert_int_equal(modules_source(fatbin), 0);
	assert_int_equal(modules_source("// comment without end"), 0);
	assert_int_equal(modules_source(""), 0);
	uint64_t hash = modules_source("// made by hand\n\n .version 7.0\n.target sm_75\n");
	assert_true(hash != 0);
	assert_true(hash != modules_source(".version 7.0\n.target sm_80\n"));
}

static void nodes_come_and_go(void **state)
{
	uint32_t brick;
	int32_t layer;
	const struct brick_launch_owner *work;

	assert_false(nodes_find(5, &brick, &layer, &work));
	for (uint64_t i = 1; i <= 200000; i++)
		nodes_created(i << 32, (uint16_t)(i % 100), (int16_t)(i % 30), NULL);
	for (uint64_t i = 1; i <= 200000; i++) {
		assert_true(nodes_find(i << 32, &brick, &layer, &work));
		assert_int_equal(brick, i % 100);
		assert_int_equal(layer, i % 30);
	}
	nodes_cloned(7, 1ull << 32);
	nodes_cloned(8, 999); /* of one that is not known */
	assert_true(nodes_find(7, &brick, &layer, &work));
	assert_int_equal(brick, 1);
	assert_false(nodes_find(8, &brick, &layer, &work));
	nodes_destroyed(7);
	assert_true(nodes_find(7, &brick, &layer, &work)); /* records of it may still come */
	assert_int_equal(nodes_lost(), 0);
	nodes_exec(&brick, 5);
	assert_int_equal(nodes_exec_launch(&brick).records, 5);
	nodes_exec(&brick, 0);
	assert_int_equal(nodes_exec_launch(&brick).records, 0);
}

static void assert_brick(uint64_t node, uint32_t want)
{
	uint32_t brick;
	int32_t layer;
	const struct brick_launch_owner *work;

	assert_true(nodes_find(node, &brick, &layer, &work));
	assert_int_equal(brick, want);
}

static void make_graph(cuda_handle graph, uint64_t first, uint32_t count, uint32_t brick)
{
	for (uint32_t i = 0; i < count; i++) {
		nodes_created(first + i, brick + i, 0, NULL);
		graph_places_created(graph, first + i);
	}
}

/* Copies come in any order; after an update they are what stands at their original's place. */
static void updates_pair_other_nodes(void **state)
{
	char first, second, shorter, exec, copies;
	uint64_t base = 1ull << 50;

	(void)state;
	make_graph(&first, base, 3, 10);
	for (uint64_t i = 3; i-- > 0;) {
		nodes_cloned(base + 100 + i, base + i);
		graph_places_cloned(&copies, base + 100 + i, base + i);
	}
	graph_places_exec(&exec, &copies);
	make_graph(&second, base + 200, 3, 20);
	make_graph(&shorter, base + 300, 2, 30);
	graph_places_updated(&exec, &shorter); /* cannot be */
	for (uint32_t i = 0; i < 3; i++)
		assert_brick(base + 100 + i, 10 + i);
	graph_places_updated(&exec, &second);
	for (uint32_t i = 0; i < 3; i++)
		assert_brick(base + 100 + i, 20 + i);
	graph_places_forget(&first);
	graph_places_updated(&exec, &first); /* its order is not known any more */
	assert_brick(base + 100, 20);
}

/* A server that makes graphs for every batch: the table does not grow for ever. */
static void nodes_are_forgotten(void **state)
{
	uint64_t id = 1;

	for (int batch = 0; batch < 4000; batch++) {
		for (int i = 0; i < 1000; i++)
			nodes_created(++id << 20, 3, 3, NULL);
		for (int i = 0; i < 1000; i++)
			nodes_destroyed((id - (uint64_t)i) << 20);
		nodes_next_round();
	}
	assert_int_equal(nodes_lost(), 0);
}

static uint64_t node(uint64_t graph, uint32_t place)
{
	return graph << 32 | place;
}

/* A program that makes graphs with others inside all day: those that it made last are known. */
static void graphs_in_graphs(void **state)
{
	enum { BRICK = 20, GRAPHS = 10000 };
	const struct brick_launch_owner *work;
	uint32_t brick;
	int32_t layer;

	nodes_created(node(1, 0), BRICK, 3, NULL);
	for (uint64_t i = 0; i < GRAPHS; i++) {
		uint64_t outer = 1000 + 2 * i, inner = outer + 1;
		nested_copied(node(outer, 0), node(2, 0), CUDA_NODE_GRAPH);
		nested_copied(node(inner, 0), node(1, 0), CUDA_NODE_KERNEL);
		nested_exec_created();
		brick = 0;
		assert_int_equal(nodes_find(node(outer, 1), &brick, &layer, &work), 1);
		assert_int_equal(brick, BRICK);
		assert_int_equal(layer, 3);
		assert_int_equal(nodes_find(node(outer, 2), &brick, &layer, &work), 0);
	}
	nested_forget();
	assert_int_equal(nodes_find(node(1000 + 2 * GRAPHS - 2, 1), &brick, &layer, &work), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cubin_of_any_content),
		cmocka_unit_test(kernels_by_module),
		cmocka_unit_test(sources),
		cmocka_unit_test(nodes_come_and_go),
		cmocka_unit_test(nodes_are_forgotten),
		cmocka_unit_test(updates_pair_other_nodes),
		cmocka_unit_test(graphs_in_graphs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
