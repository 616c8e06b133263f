// SPDX-License-Identifier: Apache-2.0
//
// A small but real vocabulary for the SentencePiece kind of tokenizer: control tokens, all 256
// bytes, printable ASCII, then pieces of English. Any text can be tokenised with it, and common
// words take one token. The same size always gives the same vocabulary. Thread rule: any thread.
#pragma once

#include <stdint.h>

enum {
	VOCAB_UNKNOWN = 0,
	VOCAB_BOS = 1,
	VOCAB_EOS = 2,
	VOCAB_CONTROLS = 3, // ids below it are never to be generated
	VOCAB_MIN_SIZE = 384,
};

struct vocab {
	uint32_t size;
	char **pieces;
	float *scores;	// the tokenizer merges the pair with the highest first
	int32_t *kinds; // as numbered in the file format
};

// VOCAB_MIN_SIZE at least. 0 or -ENOMEM.
int vocab_init(struct vocab *v, uint32_t size);
void vocab_fini(struct vocab *v);
