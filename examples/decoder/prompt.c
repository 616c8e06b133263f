// SPDX-License-Identifier: Apache-2.0
//
// Tokens of a vocabulary of the SentencePiece kind ("llama"): of all neighbours in the text that
// make a known piece together, those with the best score are joined, the leftmost first, until
// there are none. The text is that of demo/llama_run.c, so that both make the same prompts.
#include "prompt.h"

#include "memory.h"

static const char prompt_text[] =
	"The people who build an engine want to know where the time of every token went. "
	"They measure each layer and each part of it with a clock, and they show it as a line. "
	"A good answer is one that you could make again on the same machine and then on another. ";
static const char space[] = "\xe2\x96\x81"; // U+2581 stands for a space; one more begins the text

struct piece {
	struct gguf_text text;
	int32_t token;
	float score;
};

struct vocabulary {
	struct piece *pieces; // sorted by text
	size_t n;
};

// A part of the text, the one behind it, and the piece that the two would make.
struct symbol {
	struct gguf_text text;
	struct symbol *next;
	const struct piece *joined;
};

// A piece begins with its text.
static int compare(const void *a, const void *b)
{
	const struct gguf_text *x = a, *y = b;
	int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
	return order ? order : (x->size > y->size) - (x->size < y->size);
}

static const struct piece *find(const struct vocabulary *v, const char *data, size_t size)
{
	struct gguf_text text = {data, size};
	return bsearch(&text, v->pieces, v->n, sizeof(*v->pieces), compare);
}

static int read_vocabulary(struct vocabulary *v, struct gguf *file, uint32_t n)
{
	const struct gguf_pair *tokens = gguf_pair(file, "tokenizer.ggml.tokens");
	const struct gguf_pair *scores = gguf_pair(file, "tokenizer.ggml.scores");
	if (!gguf_is(file, "tokenizer.ggml.model", "llama"))
		return gguf_fail(file, 0, "tokenizer.ggml.model is not llama");
	if (!tokens || !tokens->is_array || tokens->type != GGUF_STRING || tokens->count != n)
		return gguf_fail(file, 0, "tokenizer.ggml.tokens are not %u strings", n);
	if (!scores || !scores->is_array || scores->type != GGUF_FLOAT32 || scores->count != n)
		return gguf_fail(file, 0, "tokenizer.ggml.scores are not %u numbers", n);
	*v = (struct vocabulary){allocate(n, sizeof(*v->pieces)), n};
	uint64_t at = tokens->at;
	for (uint32_t i = 0; i < n; i++) {
		v->pieces[i].text = gguf_text(file, &at);
		v->pieces[i].token = (int32_t)i;
		memcpy(&v->pieces[i].score, file->bytes + scores->at + 4 * (uint64_t)i, 4);
	}
	qsort(v->pieces, n, sizeof(*v->pieces), compare);
	return 0;
}

// The text over and over, each character a symbol.
static void split(struct symbol *symbols, size_t n, char *text)
{
	for (size_t i = 0; i < n; i++) {
		char c = i ? prompt_text[(i - 1) % (sizeof(prompt_text) - 1)] : ' ';
		size_t size = c == ' ' ? strlen(space) : 1;
		memcpy(text, c == ' ' ? space : &c, size);
		symbols[i].text = (struct gguf_text){text, size};
		symbols[i].next = i + 1 < n ? &symbols[i + 1] : NULL;
		text += size;
	}
}

static void look_behind(const struct vocabulary *v, struct symbol *s)
{
	s->joined = NULL;
	if (s->next)
		s->joined = find(v, s->text.data, s->text.size + s->next->text.size);
}

static void join(const struct vocabulary *v, struct symbol *first)
{
	struct symbol *best, *before, *last;
	for (struct symbol *s = first; s; s = s->next)
		look_behind(v, s);
	for (;;) {
		best = before = last = NULL;
		for (struct symbol *s = first; s; last = s, s = s->next)
			if (s->joined && (!best || s->joined->score > best->joined->score)) {
				best = s;
				before = last;
			}
		if (!best)
			return;
		best->text.size += best->next->text.size;
		best->next = best->next->next;
		look_behind(v, best);
		if (before)
			look_behind(v, before);
	}
}

// Each symbol's token, or those of its bytes. Returns how many, at most n.
static size_t put(const struct vocabulary *v, const struct symbol *s, int32_t *tokens, size_t n)
{
	size_t done = 0;
	for (; s && done < n; s = s->next) {
		const struct piece *piece = find(v, s->text.data, s->text.size);
		if (piece)
			tokens[done++] = piece->token;
		for (size_t i = 0; !piece && i < s->text.size && done < n; i++) {
			char name[8];
			snprintf(name, sizeof(name), "<0x%02X>", (unsigned char)s->text.data[i]);
			const struct piece *byte = find(v, name, strlen(name));
			tokens[done++] = byte ? byte->token : 0;
		}
	}
	return done;
}

int32_t *prompt_create(struct model *model, size_t n)
{
	struct vocabulary v;
	uint32_t begin = 1;
	gguf_get(&model->file, "tokenizer.ggml.bos_token_id", GGUF_UINT32, &begin);
	if (begin >= model->n_vocab)
		gguf_fail(&model->file, 0, "a text begins with token %u of %u", begin, model->n_vocab);
	if (model->file.failed || read_vocabulary(&v, &model->file, model->n_vocab))
		return NULL;
	size_t length = (n / 32 + 2) * (sizeof(prompt_text) - 1) + 1; // a copy is more than 32 tokens
	struct symbol *symbols = allocate(length, sizeof(*symbols));
	char *text = allocate(length, strlen(space));
	int32_t *tokens = allocate(n, sizeof(*tokens));
	tokens[0] = (int32_t)begin;
	split(symbols, length, text);
	join(&v, symbols);
	if (put(&v, symbols, tokens + 1, n - 1) < n - 1)
		gguf_fail(&model->file, 0, "the vocabulary makes no %zu tokens of the prompt", n);
	free(symbols);
	free(text);
	free(v.pieces);
	return tokens;
}
