/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program: patches every function that can be, of the objects whose file names
 * PATCH_ALL lists ("libc.so.6 exe"), with a hook that counts and goes on. The program must not
 * notice. At its end, how many there were goes to the file PATCH_ALL_COUNTS.
 */
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/patch/patch.h"
#include "attach/patch/survey.h"

enum { MAX_OBJECTS = 4 };

static struct patch_place places[MAX_OBJECTS];
static char paths[MAX_OBJECTS][512];
static size_t place_count, functions, patched, refused;
uint64_t patch_all_hits __attribute__((visibility("hidden")));
__thread void *patch_all_told __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whatever the function is: all registers but r11 and the stack are as they were. */
void patch_all_hook(void);
#if defined(__x86_64__)
__asm__(".text\n.hidden patch_all_hook\n.globl patch_all_hook\n.type patch_all_hook, @function\n"
	"patch_all_hook:\n"
	"lock incq patch_all_hits(%rip)\n"
	"movq patch_all_told@gottpoff(%rip), %r11\n"
	"jmp *%fs:(%r11)\n"
	".size patch_all_hook, . - patch_all_hook\n");
#else
void patch_all_hook(void)
{
	abort(); /* never wished for: main() of the test skips */
}
#endif

static int find(struct dl_phdr_info *info, size_t bytes, void *names)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = *info->dlpi_name ? slash ? slash + 1 : info->dlpi_name : "exe";
	uintptr_t low = UINTPTR_MAX, high = 0;

	(void)bytes;
	if (!strstr(names, name) || place_count == MAX_OBJECTS)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		low = begin < low ? begin : low;
		high = begin + p->p_memsz > high ? begin + p->p_memsz : high;
	}
	snprintf(paths[place_count], sizeof paths[0], "%s",
		*info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
	places[place_count] = (struct patch_place){.path = paths[place_count],
		.low = low,
		.bytes = high - low,
		.bias = info->dlpi_addr,
		.is_forced = true};
	place_count++;
	return 0;
}

static void count(const struct patch_object *object)
{
	size_t n;
	const struct patch_result *results = brick_patch_results(object, &n);

	for (size_t i = 0; i < n; i++) {
		patched += results[i].inner != NULL;
		refused += results[i].refused != NULL;
		if (results[i].refused && getenv("PATCH_ALL_TELL"))
			fprintf(stderr, "%s: %s\n", results[i].name, results[i].refused);
	}
}

static void patch(const struct patch_place *place)
{
	struct image image;
	struct patch_object *object;

	if (image_open(&image, place->path))
		abort();
	struct patch_wish *wishes = calloc(image.functions.count, sizeof *wishes);
	for (size_t i = 0; i < image.functions.count; i++)
		wishes[i] = (struct patch_wish){
			.of = {.name = image.functions.items[i].name, .is_sign = 1},
			.hook = (void *)patch_all_hook,
			.tell = (char *)&patch_all_told - (char *)__builtin_thread_pointer()};
	functions += image.functions.count;
	if (brick_patch_open(&object, place, wishes, image.functions.count) || !object)
		abort();
	count(object);
	free(wishes);
	image_close(&image);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("PATCH_ALL_COUNTS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%zu %zu %zu %zu\n", functions, patched, refused, (size_t)patch_all_hits);
	fclose(file);
}

__attribute__((constructor)) static void patch_all(void)
{
	char *names = getenv("PATCH_ALL");

	if (!names)
		return;
	dl_iterate_phdr(find, names);
	for (size_t i = 0; i < place_count; i++)
		patch(&places[i]);
}
