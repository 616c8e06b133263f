/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huffman codes of bounded length. The tree is built over the sorted counts with two queues; codes
 * that come out too long are shortened, and others lengthened until Kraft's sum fits again.
 */
#include <string.h>
#include "lib/writer/deflate_state.h"

enum { MAX_SYMBOLS = DEFLATE_LITERALS, MAX_LENGTH = 15 };

struct leaf {
	uint32_t count;
	uint16_t symbol;
};

/* By count, a byte of it at a time: it takes no memory, as qsort() may, and no guess of a branch.
 */
static void sort(struct leaf *leaves, unsigned n, uint32_t most)
{
	struct leaf sorted[MAX_SYMBOLS];

	for (unsigned shift = 0; shift < 32 && most >> shift; shift += 8) {
		unsigned at[257] = {0};
		for (unsigned i = 0; i < n; i++)
			at[(leaves[i].count >> shift & 255) + 1]++;
		for (unsigned i = 1; i < 256; i++)
			at[i] += at[i - 1];
		for (unsigned i = 0; i < n; i++)
			sorted[at[leaves[i].count >> shift & 255]++] = leaves[i];
		memcpy(leaves, sorted, n * sizeof *leaves);
	}
}

/* Depth of each of the n sorted leaves in the tree of Huffman. */
static void tree_depths(const struct leaf *leaves, unsigned n, uint8_t *depths)
{
	uint32_t weight[2 * MAX_SYMBOLS];
	uint16_t parent[2 * MAX_SYMBOLS];
	uint8_t depth[2 * MAX_SYMBOLS];
	unsigned leaf = 0, node = n, last = n;

	for (unsigned i = 0; i < n; i++)
		weight[i] = leaves[i].count;
	for (; last < 2 * n - 1; last++) {
		weight[last] = 0;
		for (int k = 0; k < 2; k++) {
			int take_leaf = leaf < n && (node == last || weight[leaf] <= weight[node]);
			unsigned i = take_leaf ? leaf++ : node++;
			weight[last] += weight[i];
			parent[i] = (uint16_t)last;
		}
	}
	depth[last - 1] = 0;
	for (unsigned i = last - 1; i-- > 0;) {
		unsigned deeper = depth[parent[i]] + 1u;
		depth[i] = (uint8_t)(deeper > 255 ? 255 : deeper);
	}
	memcpy(depths, depth, n);
}

/* Leaves are sorted by count: the first ones, the rarest, bear what must be longer. */
static void bound_depths(uint8_t *depths, unsigned n, unsigned most)
{
	uint32_t used = 0, full = 1u << most;

	for (unsigned i = 0; i < n; i++) {
		if (depths[i] > most)
			depths[i] = (uint8_t)most;
		used += full >> depths[i];
	}
	for (unsigned i = 0; used > full; i = (i + 1) % n)
		while (used > full && depths[i] < most) {
			used -= full >> (depths[i] + 1);
			depths[i]++;
		}
	for (unsigned i = n; i-- > 0;)
		while (depths[i] > 1 && used + (full >> depths[i]) <= full) {
			used += full >> depths[i];
			depths[i]--;
		}
}

void huffman_lengths(const uint32_t *counts, unsigned symbols, unsigned most, uint8_t *lengths)
{
	struct leaf leaves[MAX_SYMBOLS];
	uint8_t depths[MAX_SYMBOLS];
	uint32_t max = 0;
	unsigned n = 0;

	memset(lengths, 0, symbols);
	for (unsigned i = 0; i < symbols; i++) {
		max |= counts[i];
		if (counts[i])
			leaves[n++] = (struct leaf){counts[i], (uint16_t)i};
	}
	sort(leaves, n, max);
	if (n == 1)
		lengths[leaves[0].symbol] = 1;
	if (n < 2)
		return;
	tree_depths(leaves, n, depths);
	bound_depths(depths, n, most);
	for (unsigned i = 0; i < n; i++)
		lengths[leaves[i].symbol] = depths[i];
}

static uint16_t reverse(uint32_t code, unsigned bits)
{
	uint32_t reversed = 0;

	for (unsigned i = 0; i < bits; i++)
		reversed |= (code >> i & 1) << (bits - 1 - i);
	return (uint16_t)reversed;
}

/* RFC 1951, 3.2.2 */
void huffman_codes(const uint8_t *lengths, unsigned symbols, uint16_t *codes)
{
	uint32_t counts[MAX_LENGTH + 1] = {0}, next[MAX_LENGTH + 1], code = 0;

	for (unsigned i = 0; i < symbols; i++)
		counts[lengths[i]]++;
	counts[0] = 0;
	for (unsigned bits = 1; bits <= MAX_LENGTH; bits++) {
		code = (code + counts[bits - 1]) << 1;
		next[bits] = code;
	}
	for (unsigned i = 0; i < symbols; i++)
		codes[i] = lengths[i] ? reverse(next[lengths[i]]++, lengths[i]) : 0;
}
