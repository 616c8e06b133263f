/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of ggml_symbols.h as data. */
#include "attach/rules/ggml_symbols.h"

#include <stddef.h>

#define SYMBOL(kind, id, symbol, library, use, need, phase, gives) \
	[GGML_##id] = {symbol, GGML_IN_##library, GGML_FOR_##use, GGML_##need, gives},

const struct ggml_symbol ggml_symbols[GGML_SYMBOL_COUNT] = {GGML_SYMBOLS(SYMBOL)};
