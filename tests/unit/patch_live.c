/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of this very program are patched: hooks are called and lead on, registers that a caller
 * relies on are kept, calls without an aligned stack pass by; 10000 times on and off while two
 * threads call; and what cannot be done while they do is refused. So is a function that has a
 * uprobe, where the kernel lets us set one, or that somebody has changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "attach/patch/patch.h"

enum { ROUNDS = 10000, FUNCTIONS = 3, HOOKED = 1000 };

#if defined(__x86_64__)
/*
 * one is a single long instruction, several are more. keeper calls nobody and changes rax only:
 * call_keeper relies on that and gives back what it has put into r8 to r11, rcx, rdx, rsi.
 */
__asm__(".text\n.balign 16\n.globl one\n.type one, @function\n"
	"one: movl $1, %eax\n ret\n.size one, . - one\n"
	".balign 16\n.globl several\n.type several, @function\n"
	"several: pushq %rbx\n movl $2, %ebx\n movl %ebx, %eax\n popq %rbx\n ret\n"
	".size several, . - several\n"
	".balign 16\n.globl keeper\n.type keeper, @function\n"
	"keeper: movl (%rdi), %eax\n addl $1, %eax\n ret\n.size keeper, . - keeper\n"
	".globl call_keeper\n.type call_keeper, @function\n"
	"call_keeper: pushq %rbx\n movq %rsi, %rbx\n"
	"movl $8, %r8d\n movl $9, %r9d\n movl $10, %r10d\n movl $11, %r11d\n"
	"movl $1, %ecx\n movl $2, %edx\n movl $6, %esi\n"
	"call keeper\n"
	"movq %r8, (%rbx)\n movq %r9, 8(%rbx)\n movq %r10, 16(%rbx)\n movq %r11, 24(%rbx)\n"
	"movq %rcx, 32(%rbx)\n movq %rdx, 40(%rbx)\n movq %rsi, 48(%rbx)\n movq %rdi, 56(%rbx)\n"
	"popq %rbx\n ret\n.size call_keeper, . - call_keeper\n"
	/* the same with numbers in xmm1 and xmm9 */
	".globl call_keeper_vectors\n.type call_keeper_vectors, @function\n"
	"call_keeper_vectors: pushq %rbx\n movq %rsi, %rbx\n"
	"movq 8(%rbx), %xmm1\n movq 16(%rbx), %xmm9\n"
	"call keeper\n"
	"movq %xmm1, 24(%rbx)\n movq %xmm9, 32(%rbx)\n"
	"popq %rbx\n ret\n.size call_keeper_vectors, . - call_keeper_vectors\n"
	".globl call_askew\n.type call_askew, @function\n"
	"call_askew: call one\n ret\n.size call_askew, . - call_askew\n");
#else
int one(void)
{
	return 1;
}
#endif

int one(void);
int several(void);
int keeper(const int *value);
int call_keeper(const int *value, uint64_t registers[8]);
int call_keeper_vectors(const int *value, uint64_t registers[8]);
int call_askew(void);

static int (*inner[FUNCTIONS])(const int *value);
static uintptr_t keeper_caller;
static uint64_t calls, hooked;
static int stop;

static int hook_one(void)
{
	return inner[0](NULL) + HOOKED;
}

static int hook_several(void)
{
	return inner[1](NULL) + HOOKED;
}

/* Changes whatever a function may. */
static int hook_keeper(
	const int *value, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t caller)
{
	(void)b, (void)c, (void)d, (void)e;
	keeper_caller = caller;
	int result = inner[2](value);
#if defined(__x86_64__)
	__asm__ volatile(
		"movl $-1, %%r8d\n movl $-1, %%r9d\n movl $-1, %%r10d\n movl $-1, %%r11d\n"
		"movl $-1, %%ecx\n movl $-1, %%edx\n movl $-1, %%esi\n movl $-1, %%edi\n" ::
			: "r8", "r9", "r10", "r11", "rcx", "rdx", "rsi", "rdi");
	__asm__ volatile("pxor %%xmm1, %%xmm1\n pxor %%xmm9, %%xmm9\n" ::: "xmm1", "xmm9");
#endif
	return result + HOOKED;
}

static int find_program(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct patch_place *place = argument;
	uintptr_t high = 0;

	(void)bytes;
	*place = (struct patch_place){"/proc/self/exe", UINTPTR_MAX, 0, info->dlpi_addr, 0, 0, 0};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		place->low = begin < place->low ? begin : place->low;
		high = begin + p->p_memsz > high ? begin + p->p_memsz : high;
	}
	place->bytes = high - place->low;
	return 1; /* the first is the program */
}

static struct patch_object *patch(int is_live, const char *refused[FUNCTIONS])
{
	const struct patch_wish wishes[FUNCTIONS] = {
		{{.name = "one", .is_sign = 1}, (void *)hook_one, NULL, 0},
		{{.name = "several", .is_sign = 1}, (void *)hook_several, NULL, 0},
		{{.name = "keeper", .can_keep = 1, .is_sign = 1}, (void *)hook_keeper,
			(void *)hook_keeper, 0},
	};
	struct patch_place place;
	struct patch_object *object;
	size_t n;

	dl_iterate_phdr(find_program, &place);
	place.is_live = is_live;
	assert_int_equal(brick_patch_open(&object, &place, wishes, FUNCTIONS), 0);
	assert_non_null(object);
	const struct patch_result *results = brick_patch_results(object, &n);
	assert_int_equal(n, FUNCTIONS);
	for (int i = 0; i < FUNCTIONS; i++) {
		memcpy(&inner[i], &results[i].inner, sizeof inner[i]);
		refused[i] = results[i].refused;
	}
	return object;
}

static void test_hooks(void **state)
{
	const char *refused[FUNCTIONS];
	struct patch_object *object = patch(0, refused);
	uint64_t registers[8];
	int value = 41;

	(void)state;
	for (int i = 0; i < FUNCTIONS; i++)
		if (refused[i])
			fail_msg("%d: %s", i, refused[i]);
	assert_int_equal(one(), 1 + HOOKED);
	assert_int_equal(several(), 2 + HOOKED);
	assert_int_equal(call_keeper(&value, registers), 42 + HOOKED);
	static const uint64_t expected[7] = {8, 9, 10, 11, 1, 2, 6};
	assert_memory_equal(registers, expected, sizeof expected);
	assert_int_equal(registers[7], (uintptr_t)&value);
	assert_in_range(keeper_caller, (uintptr_t)call_keeper, (uintptr_t)call_keeper + 64);
	registers[1] = 0x4142434445464748;
	registers[2] = 0x5152535455565758;
	assert_int_equal(call_keeper_vectors(&value, registers), 42 + HOOKED);
	assert_memory_equal(registers + 3, registers + 1, 2 * sizeof *registers);
	assert_int_equal(call_askew(), 1); /* passes by the hook, which might need the stack */
	assert_int_equal(brick_patch_off(object, PATCH_ALL_GROUPS, 0), 0);
	assert_int_equal(one(), 1);
	assert_int_equal(several(), 2);
	assert_int_equal(call_keeper(&value, registers), 42);
	brick_patch_forget(object);
}

/* Not exported, not hooked, and one of them renamed by a link-time optimiser. */
static int asked(void) __asm__("llama_asked");
static int renamed(void) __asm__("ggml_renamed.lto_priv.0");

static __attribute__((noinline, used)) int asked(void)
{
	return getpid() + 1;
}

static __attribute__((noinline, used)) int renamed(void)
{
	return getpid() + 2;
}

/* What a table of symbols that lies calls functions: data, and a part of an instruction. */
__asm__(".data\n.globl ggml_data\n.type ggml_data, %function\nggml_data: .zero 64\n"
	".size ggml_data, 64\n.text\n.balign 16\n.globl ggml_piece\n"
	".type ggml_piece, %function\nggml_piece: "
#if defined(__x86_64__)
	"movl $1, %eax\n.size ggml_piece, 3\n ret\n");
#else
	"mov x0, #1\n.size ggml_piece, 3\n ret\n");
#endif

static void test_others(void **state)
{
	const char *refused[FUNCTIONS];
	struct patch_object *object = patch(0, refused);

	(void)state;
	assert_ptr_equal(brick_patch_function(object, "llama_asked"), (void *)asked);
	assert_ptr_equal(brick_patch_function(object, "ggml_renamed"), (void *)renamed);
	assert_null(brick_patch_function(object, "llama_absent"));
	assert_null(brick_patch_function(object, "ggml_data"));
	assert_null(brick_patch_function(object, "ggml_piece"));
	assert_int_equal(brick_patch_off(object, PATCH_ALL_GROUPS, 0), 0);
	brick_patch_forget(object);
}

struct place {
	uintptr_t address;
	uint64_t offset; /* in the file */
};

static int find_offset(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct place *place = argument;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && place->address - begin < p->p_filesz)
			place->offset = place->address - begin + p->p_offset;
	}
	return 1; /* the first is the program */
}

/* A descriptor; negative: the kernel has no uprobes for us. */
static int set_uprobe(uintptr_t address)
{
	char path[4096] = "";
	struct place place = {address, 0};
	struct perf_event_attr event = {.size = sizeof(event), .config1 = (uintptr_t)path};
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	bool is_known = type && fscanf(type, "%u", &event.type) == 1;

	if (type)
		fclose(type);
	dl_iterate_phdr(find_offset, &place);
	event.config2 = place.offset;
	if (!is_known || readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return -1;
	return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Only the second is refused, and goes on as it was; why NULL: none is. */
static void check_second(const char *why, int result)
{
	const char *refused[FUNCTIONS];
	struct patch_object *object = patch(0, refused);

	assert_null(refused[0]);
	assert_int_equal(refused[1] != NULL, why != NULL);
	if (why)
		assert_non_null(strstr(refused[1], why));
	assert_int_equal(several(), result);
	assert_int_equal(brick_patch_off(object, PATCH_ALL_GROUPS, 0), 0);
	brick_patch_forget(object);
}

static void test_probed(void **state)
{
	int fd = set_uprobe((uintptr_t)several);

	(void)state;
	if (fd < 0)
		skip();
	check_second("a uprobe's", 2);
	close(fd);
	check_second(NULL, 2 + HOOKED);
}

static void poke(uintptr_t address, uint8_t byte)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &byte, 1, (off_t)address), 1);
	close(fd);
}

/* Somebody else has patched it, or a debugger. */
static void test_changed(void **state)
{
	enum { IMMEDIATE = 2 };

	(void)state;
	poke((uintptr_t)several + IMMEDIATE, 3);
	check_second("not those of its file", 3);
	poke((uintptr_t)several + IMMEDIATE, 2);
	check_second(NULL, 2 + HOOKED);
}

static void *call(void *bad)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int a = one(), b = several();
		if ((a != 1 && a != 1 + HOOKED) || (b != 2 && b != 2 + HOOKED))
			__atomic_add_fetch((int *)bad, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&hooked, a > HOOKED, __ATOMIC_RELAXED);
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Until threads have called: the rounds shall meet them. */
static void wait_for(const uint64_t *counter)
{
	uint64_t before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (__atomic_load_n(counter, __ATOMIC_RELAXED) < before + 2)
		sched_yield();
}

/* Does this kernel let a process wait until all of its CPUs have seen new code? */
static int can_synchronize(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

static void test_rounds(void **state)
{
	const char *refused[FUNCTIONS];
	pthread_t threads[2];
	int bad = 0;

	(void)state;
	if (!can_synchronize())
		skip(); /* nothing is written then, which is right */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call, &bad), 0);
	wait_for(&calls);
	struct patch_object *object = patch(1, refused);
	assert_null(refused[0]);
	assert_non_null(refused[1]); /* a thread may stand between its instructions */
	wait_for(&hooked);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(brick_patch_off(object, PATCH_ALL_GROUPS, 1), 0);
		if (i % 1000 == 0)
			wait_for(&calls);
		assert_int_equal(brick_patch_on(object, PATCH_ALL_GROUPS, 1), 0);
		if (i % 1000 == 0)
			wait_for(&hooked);
	}
	assert_int_equal(brick_patch_off(object, PATCH_ALL_GROUPS, 1), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(one(), 1);
	assert_true(hooked > 0 && hooked < calls);
	brick_patch_forget(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_probed),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_rounds),
	};

#if !defined(__x86_64__)
	return 77; /* only there it can be run */
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
