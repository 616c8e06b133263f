/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations (annotations.h) in a table with open addressing, by the hash of domain and name;
 * entries are complete before they are published. The table is bounded. When it is full, the rules
 * are applied to a new text each time, and texts that differ in numbers only share an entry (a
 * family).
 */
#include "attach/annotate/annotations.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/rules/rule_sets.h"
#include "base/hash.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/registry.h"

enum {
	PLACES = 1 << 14,
	MAX_TEXTS = 1 << 12,	/* texts with a layer and site of their own */
	MAX_FAMILIES = 1 << 11, /* besides */
	MAX_OWN_NAMES = 4096,	/* bricks beside those of engines */
	MAX_DOMAINS = 256,
	MAX_TEXT = 2048,
	NAME_BYTES = 48,
	SPARES = 4, /* per thread, for annotations without room in the table */
	COST_PERIOD = 64,
};

static const struct annotation *annotations_table[PLACES];
static struct annotation_domain annotations_domains[MAX_DOMAINS] = {{.name = ""}};
static uint32_t domain_count = 1;
static uint32_t text_count, family_count, own_count;
static uint64_t unkept, annotations_unnamed;
static pthread_mutex_t annotations_lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(annotations_lock)

/* Domains. */

struct annotation_domain *annotation_domain(const char *name)
{
	struct annotation_domain *domain = NULL;
	char kept[sizeof(annotations_domains->name)];

	snprintf(kept, sizeof(kept), "%s", name ? name : "");
	HOLD(&annotations_lock);
	for (uint32_t i = 0; i < domain_count && !domain; i++)
		if (!strcmp(annotations_domains[i].name, kept))
			domain = &annotations_domains[i];
	if (domain)
		return domain;
	if (domain_count == MAX_DOMAINS)
		return &annotations_domains[0];
	domain = &annotations_domains[domain_count];
	memcpy(domain->name, kept, sizeof(kept));
	domain->number = domain_count++;
	return domain;
}

bool annotation_is_domain(const struct annotation_domain *domain)
{
	return (uintptr_t)domain - (uintptr_t)annotations_domains < sizeof(annotations_domains);
}

/* Rules. */

static struct rule_sets annotations_rules;
static pthread_once_t annotations_once = PTHREAD_ONCE_INIT;

static void annotations_load(void)
{
	rule_sets_load(&annotations_rules, rule_set_annotations_text, rule_set_annotations_bytes);
}

/* Names of bricks. */

static bool annotations_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The text with '#' for numbers that stand alone: those of "conv2d" and "fp16" are letters. */
static size_t family_of(const char *text, size_t bytes, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes;) {
		size_t end = i;
		while (end < bytes && text[end] >= '0' && text[end] <= '9')
			end++;
		bool alone = end > i && !(i && annotations_is_letter(text[i - 1])) &&
			     !(end < bytes && annotations_is_letter(text[end]));
		if (alone)
			to[n++] = '#';
		while (i < end) {
			if (!alone)
				to[n++] = text[i];
			i++;
		}
		if (i < bytes)
			to[n++] = text[i++];
	}
	to[n] = '\0';
	return n;
}

static bool annotations_continues(char c)
{
	return (c & 0xc0) == 0x80;
}

static int brick_of_family(const char *family, size_t bytes, uint32_t category)
{
	size_t head = bytes, tail = bytes;
	char name[NAME_BYTES];

	/* Keeps both ends of a name that is too long: a module's own name stands at the end. */
	if (bytes >= NAME_BYTES) {
		head = NAME_BYTES / 2 - 4;
		tail = bytes - (NAME_BYTES / 2 + 1);
	}
	while (head < bytes && annotations_continues(family[head]))
		head--;
	while (tail < bytes && annotations_continues(family[tail]))
		tail++;
	snprintf(name, sizeof(name), "%.*s%s%s", (int)head, family, head < bytes ? ".." : "",
		family + tail);
	int known = brick_lookup(name), brick = -1;
	if (known >= 0 && (known >= BRICK_FIRST_DYNAMIC || !brick_is_step((uint32_t)known)))
		return known;
	if (known < 0 && __atomic_add_fetch(&own_count, 1, __ATOMIC_RELAXED) <= MAX_OWN_NAMES)
		brick = brick_register(name, category);
	if (brick < 0) {
		__atomic_add_fetch(&annotations_unnamed, 1, __ATOMIC_RELAXED);
		brick = brick_register("OtherRanges", BRICK_CATEGORY_OTHER);
	}
	return brick;
}

/* Fills in the rules' verdict on its text. True: numbers in it mean something. */
static bool ask_rules(struct annotation *a, uint32_t category)
{
	const struct rules_node node = {*a->domain->name ? a->domain->name : "-", a->text, NULL, 0};
	struct rules_verdict verdict;
	struct rules_step step;
	char family[MAX_TEXT + 1];

	for (int i = 0; i < 2 && !a->is_step; i++)
		a->is_step = annotations_rules.of[i] &&
			     rules_step(annotations_rules.of[i], a->text, &step);
	if (a->is_step) {
		a->phase = (uint8_t)step.phase;
		a->prompt = step.prompt;
		a->output = step.output;
	}
	rule_sets_judge(&annotations_rules, &node, &verdict);
	a->layer = verdict.layer;
	int brick = rule_sets_brick(&verdict);
	if (brick < 0)
		brick = brick_of_family(family, family_of(a->text, a->bytes, family), category);
	a->brick = brick < 0 ? BRICK_NONE : (uint32_t)brick;
	return a->is_step || verdict.layer >= 0;
}

static uint32_t annotations_site_of(const struct annotation *a)
{
	struct brick_site site = BRICK_SITE_INIT;

	site.brick = a->brick;
	site.layer = a->layer;
	site.operation = a->domain->name;
	site.label = a->text;
	int index = brick_site_register(&site);
	return index < 0 ? 0 : (uint32_t)index;
}

/* The table. */

static uint64_t annotations_hash_of(
	const struct annotation_domain *domain, const char *text, size_t bytes)
{
	uint64_t hash = hash_add(domain->number + 1, bytes), word = 0;

	for (; bytes >= sizeof(word); text += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * HASH_GOLDEN;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, bytes);
	return hash_add(hash, word);
}

static const struct annotation *annotations_look_up(
	const struct annotation_domain *domain, const char *text, size_t bytes, uint64_t hash)
{
	for (uint64_t i = hash;; i++) {
		const struct annotation *a =
			__atomic_load_n(&annotations_table[i & (PLACES - 1)], __ATOMIC_ACQUIRE);
		if (!a || (a->hash == hash && a->domain == domain && a->bytes == bytes &&
				  !memcmp(a->text, text, bytes)))
			return a;
	}
}

/* Publishes an entry. Returns NULL if another thread was first or there is no room. */
static const struct annotation *annotations_publish(
	struct annotation *a, uint32_t *count, uint32_t most)
{
	uint64_t i = a->hash;

	HOLD(&annotations_lock);
	const struct annotation *known = annotations_look_up(a->domain, a->text, a->bytes, a->hash);
	if (known || *count == most) {
		free(a);
		return known;
	}
	while (annotations_table[i & (PLACES - 1)])
		i++;
	__atomic_store_n(&annotations_table[i & (PLACES - 1)], a, __ATOMIC_RELEASE);
	++*count;
	return a;
}

static struct annotation *annotations_make(
	const struct annotation_domain *domain, const char *name, size_t bytes, uint64_t hash)
{
	struct annotation *a = calloc(1, sizeof(*a) + bytes + 1);

	if (!a)
		return NULL;
	a->domain = domain;
	a->hash = hash;
	a->bytes = (uint32_t)bytes;
	memcpy(a->text, name, bytes);
	return a;
}

/*
 * Without room, an annotation lies in one of the thread's own places, usually for as long as it is
 * open.
 */
static const struct annotation *without_room(const struct annotation *known)
{
	static __thread struct annotation spare[SPARES];
	static __thread uint32_t next;
	struct annotation *a = &spare[next++ % SPARES];

	__atomic_add_fetch(&unkept, 1, __ATOMIC_RELAXED);
	*a = *known;
	a->site = 0;
	a->bytes = 0;
	return a;
}

static const struct annotation *family_entry(
	const struct annotation_domain *domain, const char *name, size_t bytes, uint32_t category)
{
	char family[MAX_TEXT + 1];
	size_t length = family_of(name, bytes, family);
	uint64_t hash = annotations_hash_of(domain, family, length);
	const struct annotation *known = annotations_look_up(domain, family, length, hash);

	if (known)
		return known;
	struct annotation *a = annotations_make(domain, family, length, hash);
	if (!a)
		return NULL;
	ask_rules(a, category);
	a->site = annotations_site_of(a);
	return annotations_publish(a, &family_count, MAX_FAMILIES);
}

/* The first time that it is met, or the table is full. */
static __attribute__((noinline)) const struct annotation *find_slow(
	const struct annotation_domain *domain, const char *text, size_t bytes, uint32_t category)
{
	static const struct annotation nothing = {
		.domain = &annotations_domains[0], .brick = BRICK_NONE, .layer = -1};
	const char *name;
	KEEP_ERRNO();

	pthread_once(&annotations_once, annotations_load);
	name = text;
	for (int i = 0; i < 2; i++)
		if (annotations_rules.of[i])
			bytes = rules_name(annotations_rules.of[i], name, bytes, &name);
	uint64_t hash = annotations_hash_of(domain, name, bytes);
	const struct annotation *known = annotations_look_up(domain, name, bytes, hash);
	if (known)
		return known;
	struct annotation *a = annotations_make(domain, name, bytes, hash);
	if (!a)
		return without_room(&nothing);
	bool is_full = __atomic_load_n(&text_count, __ATOMIC_RELAXED) == MAX_TEXTS;
	if (ask_rules(a, category) && is_full) {
		known = without_room(a);
		free(a);
		return known;
	}
	if (!is_full) {
		a->site = a->is_step ? 0 : annotations_site_of(a);
		known = annotations_publish(a, &text_count, MAX_TEXTS);
		return known ? known : find_slow(domain, name, bytes, category);
	}
	known = family_entry(domain, name, bytes, category);
	known = known ? known : without_room(a);
	free(a);
	return known;
}

static const char unnamed_text[] = "(unnamed)";

static inline const struct annotation *annotations_find(
	const struct annotation_domain *domain, const char *text, uint32_t category)
{
	if (!text || !*text)
		text = unnamed_text;
	size_t bytes = strnlen(text, MAX_TEXT);
	uint64_t hash = annotations_hash_of(domain, text, bytes);
	const struct annotation *a = annotations_look_up(domain, text, bytes, hash);

	return a ? a : find_slow(domain, text, bytes, category);
}

/* One annotation in so many is timed, to state what recording costs. */
static __attribute__((noinline)) const struct annotation *find_timed(
	const struct annotation_domain *domain, const char *text, uint32_t category)
{
	uint64_t begin = brick_ticks();
	const struct annotation *a = annotations_find(domain, text, category);

	brick_hook_cost(COST_PERIOD, brick_ticks() - begin);
	return a;
}

const struct annotation *annotation_find(
	const struct annotation_domain *domain, const char *text, uint32_t category)
{
	static __thread uint32_t calls;

	if (BRICK_UNLIKELY(++calls % COST_PERIOD == 0))
		return find_timed(domain, text, category);
	return annotations_find(domain, text, category);
}

const struct annotation *annotation_keep(const struct annotation_domain *domain, const char *text)
{
	static struct annotation others = {
		.domain = &annotations_domains[0], .brick = BRICK_NONE, .layer = -1};
	const struct annotation *a = annotation_find(domain, text, BRICK_CATEGORY_OTHER);

	if (a->bytes)
		return a;
	int brick = brick_register("OtherRanges", BRICK_CATEGORY_OTHER);
	if (brick >= 0)
		__atomic_store_n(&others.brick, (uint32_t)brick, __ATOMIC_RELAXED);
	return &others;
}

void annotation_narrow(char *to, size_t bytes, const wchar_t *text)
{
	size_t n = 0;

	for (; text && *text && n + 5 <= bytes; text++) {
		uint32_t c = (uint32_t)*text;
		if (c < 0x80) {
			to[n++] = (char)c;
		} else if (c < 0x800) {
			to[n++] = (char)(0xc0 | c >> 6);
			to[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			to[n++] = (char)(0xe0 | c >> 12);
			to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[n++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x110000) {
			to[n++] = (char)(0xf0 | c >> 18);
			to[n++] = (char)(0x80 | (c >> 12 & 0x3f));
			to[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			to[n++] = (char)(0x80 | (c & 0x3f));
		}
	}
	to[n] = '\0';
}

const struct annotation *annotation_find_wide(
	const struct annotation_domain *domain, const wchar_t *text, uint32_t category)
{
	char narrow[MAX_TEXT + 1];

	annotation_narrow(narrow, sizeof(narrow), text);
	return annotation_find(domain, narrow, category);
}

bool annotations_describe(char *text, size_t bytes)
{
	uint64_t texts = __atomic_load_n(&unkept, __ATOMIC_RELAXED);
	uint64_t names = __atomic_load_n(&annotations_unnamed, __ATOMIC_RELAXED);
	bool is_full = text_count == MAX_TEXTS;

	if (!texts && !names && !is_full)
		return false;
	snprintf(text, bytes,
		"there were more than %d different texts%s; %llu names have no brick of their own "
		"and are in OtherRanges",
		MAX_TEXTS, texts ? ", those beyond have no label" : "", (unsigned long long)names);
	return true;
}
