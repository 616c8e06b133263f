/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what the kernel says of stacks and address spaces comes back from a recording as
 * functions below their callers: with their files, through forks and execs, as far as there is code
 * at the addresses; and after so many stacks that what was interned is forgotten.
 */
#include "record/stacks/stack_names.h"
#include "record/stacks/stack_packets.h"
#include "tests/unit/trace_scene.h"

enum { HZ = 250, PID = 70, CHILD = 71 };

/* A recorder without a kernel. */
struct taker {
	struct scene scene;
	struct address_spaces spaces;
	struct stack_packets packets;
	uint64_t now_ns;
};

static int pass(void *context)
{
	struct taker *t = context;
	struct pb_buffer *out = &t->packets.out;

	assert_false(out->failed);
	assert_in_range(out->size, 0, 128 << 10); /* what the writer takes at once */
	assert_int_equal(trace_writer_packets(t->scene.writer, out->data, out->size), 0);
	out->size = 0;
	return 0;
}

static void start(struct taker *t)
{
	*t = (struct taker){.packets = {.hz = HZ}, .now_ns = fake_ns(0)};
	open_scene(&t->scene, 1);
}

static void say(struct taker *t, struct stack_event event)
{
	event.time_ns = t->now_ns += 10;
	if (!event.text)
		event.text = "";
	assert_int_equal(spaces_event(&t->spaces, &event), 0);
	if (event.kind == STACK_TAKEN)
		packets_stack(&t->packets, &t->spaces, &event);
	if (event.kind == STACK_NAMED)
		packets_thread(&t->packets, &event);
	if (t->packets.out.size > 64 << 10)
		pass(t);
}

static void exec(struct taker *t, uint32_t pid, const char *name)
{
	say(t, (struct stack_event){
		       .kind = STACK_NAMED, .pid = pid, .tid = pid, .text = name, .is_exec = true});
}

static void map(struct taker *t, uint32_t pid, uint64_t start, uint64_t bytes, uint64_t offset,
	const char *path)
{
	say(t, (struct stack_event){.kind = STACK_MAPPED,
		       .pid = pid,
		       .tid = pid,
		       .text = path,
		       .start = start,
		       .bytes = bytes,
		       .offset = offset,
		       .inode = 5});
}

#define TAKE(t, of, ...)                                         \
	do {                                                     \
		const uint64_t list[] = {__VA_ARGS__};           \
		say(t, (struct stack_event){.kind = STACK_TAKEN, \
			       .pid = of,                        \
			       .tid = of,                        \
			       .addresses = list,                \
			       .count = COUNT(list)});           \
	} while (0)

/* The kernel's mark in front of addresses of user space. */
#define USER ((uint64_t)-512)

static void end(struct taker *t)
{
	struct sink_account account = {.end_ns = t->now_ns,
		.stacks = {.hz = HZ,
			.taken = t->packets.samples,
			.unknown = t->packets.unknown,
			.lost = 3,
			.throttled = 2,
			.nameless = t->packets.nameless}};

	pass(t);
	assert_int_equal(sink_account(t->scene.writer, &account), 0);
	read_back(&t->scene);
	spaces_fini(&t->spaces);
	packets_stacks_fini(&t->packets);
}

/* "c<b<a": the innermost function first. */
static const char *stack_text(const struct run *run, size_t stack)
{
	static char text[256];
	size_t n = 0;

	assert_true(stack < run->stack_count);
	for (uint32_t c = run->stacks[stack].call; c != RUN_NONE; c = run->calls[c].caller) {
		const struct run_function *f = &run->functions[run->calls[c].function];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "<" : "",
			f->name	    ? f->name
			: f->object ? f->object
				    : "nowhere");
	}
	return text;
}

static void tell(struct taker *t, const char *path, const struct stack_symbol *symbols, size_t n)
{
	for (size_t i = 0; i < t->spaces.objects.count; i++)
		if (!strcmp(t->spaces.objects.items[i].path, path)) {
			packets_symbols(
				&t->packets, &t->spaces.objects.items[i], t->now_ns, symbols, n);
			return;
		}
	fail_msg("%s was not mapped", path);
}

static void functions_and_callers(void **state)
{
	struct taker t;
	(void)state;

	start(&t);
	exec(&t, PID, "engine");
	map(&t, PID, 0x10000, 0x1000, 0x2000, "/no/engine");
	map(&t, PID, 0x50000, 0x1000, 0, "/no/libx.so");
	/* the caller's address is behind the call: 0x2100 is of the next function */
	TAKE(&t, PID, USER, 0x50010, 0x10100, 0x10200);
	TAKE(&t, PID, USER, 0x50018, 0x100ff, 0x10200);
	TAKE(&t, PID, USER, 0x10110);
	/* a stack ends where there is no code; and where there is none at all, it is of nothing */
	TAKE(&t, PID, USER, 0x50010, 0x7777, 0x10100);
	TAKE(&t, PID, USER, 0x7777, 0x10100);
	/* the second half of the library is mapped over */
	map(&t, PID, 0x50800, 0x800, 0, "//anon");
	TAKE(&t, PID, USER, 0x50010);
	TAKE(&t, PID, USER, 0x50900);
	const struct stack_symbol engine[] = {
		{0x20ff, "caller"}, {0x20fe, "caller"}, {0x21ff, "main"}, {0x2110, "other"}};
	const struct stack_symbol library[] = {{0x10, "work"}, {0x18, "work"}};
	tell(&t, "/no/engine", engine, COUNT(engine));
	tell(&t, "/no/libx.so", library, COUNT(library));
	end(&t);

	const struct run *run = t.scene.run;
	assert_int_equal(run->stack_count, 7);
	assert_string_equal(stack_text(run, 0), "work<caller<main");
	assert_int_equal(run->stacks[0].call, run->stacks[1].call);
	assert_string_equal(stack_text(run, 2), "other");
	assert_string_equal(stack_text(run, 3), "work");
	assert_string_equal(stack_text(run, 4), "nowhere");
	assert_string_equal(stack_text(run, 5), "work");
	assert_string_equal(stack_text(run, 6), "/tmp/perf-70.map");
	assert_int_equal(run->stacks[6].ns - run->stacks[5].ns, 10);
	assert_int_equal(run->stack_thread_count, 1);
	assert_string_equal(run->stack_threads[0].name, "engine");
	assert_int_equal(run->stack_threads[0].tid, PID);
	const struct stack_account *a = &run->stack_account;
	assert_int_equal(a->hz, HZ);
	assert_int_equal(a->taken, 7);
	assert_int_equal(a->unknown, 1);
	assert_int_equal(a->lost, 3);
	assert_int_equal(a->throttled, 2);
	close_scene(&t.scene);
}

static void processes(void **state)
{
	struct taker t;
	(void)state;

	start(&t);
	exec(&t, PID, "engine");
	map(&t, PID, 0x10000, 0x1000, 0, "/no/engine");
	say(&t, (struct stack_event){.kind = STACK_STARTED, .pid = PID, .tid = 72, .parent = PID});
	say(&t, (struct stack_event){
			.kind = STACK_STARTED, .pid = CHILD, .tid = CHILD, .parent = PID});
	TAKE(&t, CHILD, USER, 0x10010); /* as in its parent */
	exec(&t, CHILD, "other");
	TAKE(&t, CHILD, USER, 0x10010); /* nothing is there any more */
	map(&t, CHILD, 0x20000, 0x1000, 0, "/no/other");
	TAKE(&t, CHILD, USER, 0x20010);
	/* one of two threads ends, and the process goes on; with the last one it is forgotten */
	say(&t, (struct stack_event){.kind = STACK_ENDED, .pid = PID, .tid = 72, .parent = PID});
	TAKE(&t, PID, USER, 0x10010);
	assert_int_equal(t.spaces.of_pid.count, 2);
	say(&t, (struct stack_event){.kind = STACK_ENDED, .pid = PID, .tid = PID, .parent = 1});
	say(&t, (struct stack_event){
			.kind = STACK_ENDED, .pid = CHILD, .tid = CHILD, .parent = PID});
	assert_int_equal(t.spaces.of_pid.count, 0);
	end(&t);

	const struct run *run = t.scene.run;
	assert_int_equal(run->stack_count, 4);
	assert_string_equal(stack_text(run, 0), "/no/engine");
	assert_string_equal(stack_text(run, 1), "nowhere");
	assert_string_equal(stack_text(run, 2), "/no/other");
	assert_string_equal(stack_text(run, 3), "/no/engine");
	assert_string_equal(run->stack_threads[run->stacks[0].thread].name, "other");
	close_scene(&t.scene);
}

/* More stacks than are kept in mind: all are told, and memory stays as it was. */
static void more_than_is_kept(void **state)
{
	enum { DEEP = 100, STACKS = 12000 };
	struct taker t;
	(void)state;

	start(&t);
	exec(&t, PID, "engine");
	map(&t, PID, 0x100000, 0x4000000, 0, "/no/engine");
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t list[DEEP + 1] = {USER};
		for (uint64_t k = 1; k <= DEEP; k++)
			list[k] = 0x100001 + (k == DEEP ? i : k);
		say(&t, (struct stack_event){.kind = STACK_TAKEN,
				.pid = PID,
				.tid = PID,
				.addresses = list,
				.count = DEEP + 1});
	}
	assert_true(t.packets.forgotten_nodes > 0);
	assert_true(t.packets.nodes.count < STACKS * DEEP / 2);
	end(&t);

	const struct run *run = t.scene.run;
	assert_int_equal(run->stack_count, STACKS);
	for (size_t i = 0; i < STACKS; i++)
		assert_true(run->stacks[i].call != RUN_NONE);
	assert_int_equal(run->function_count, 1);
	close_scene(&t.scene);
}

/* Packets that could not be kept take what they told with them. */
static void lost_packets(void **state)
{
	struct taker t;
	(void)state;

	start(&t);
	exec(&t, PID, "engine");
	map(&t, PID, 0x10000, 0x1000, 0, "/no/engine");
	TAKE(&t, PID, USER, 0x10010, 0x10021);
	t.packets.out.size = 0;
	packets_forget(&t.packets);
	TAKE(&t, PID, USER, 0x10010, 0x10021);
	const struct stack_symbol engine[] = {{0x10, "work"}, {0x20, "main"}};
	tell(&t, "/no/engine", engine, COUNT(engine));
	end(&t);
	assert_int_equal(t.scene.run->stack_count, 1);
	assert_string_equal(stack_text(t.scene.run, 0), "work<main");
	close_scene(&t.scene);
}

/* This program's own file, and what a compiler at run time says of its functions. */
static void names(void **state)
{
	char self[512] = "", path[64];
	struct taker t;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	(void)state;

	assert_true(n > 0);
	start(&t);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *made = fopen(path, "w");
	assert_non_null(made);
	fputs("7000 40 LazyCompile:~old a.js:1\n7000 40 LazyCompile:*run a.js:1\nwrong\n7080 10 "
	      "_ZN2js3runEv\n",
		made);
	fclose(made);

	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024], permissions[8];
	unsigned long long from, to, offset, inode, code = 0;
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %7s %llx %*s %llu", &from, &to, permissions, &offset,
			    &inode) == 5 &&
			permissions[2] == 'x' && strstr(line, self)) {
			code = (uint64_t)(uintptr_t)processes;
			say(&t, (struct stack_event){.kind = STACK_MAPPED,
					.pid = (uint32_t)getpid(),
					.text = self,
					.start = from,
					.bytes = to - from,
					.offset = offset,
					.inode = inode});
			say(&t, (struct stack_event){.kind = STACK_MAPPED,
					.pid = CHILD,
					.text = self,
					.start = from,
					.bytes = to - from,
					.offset = offset,
					.build_id_bytes = 20});
		}
	fclose(maps);
	assert_true(code);
	uint32_t pid = (uint32_t)getpid();
	map(&t, pid, 0x7000, 0x1000, 0, "//anon");
	TAKE(&t, pid, USER, code + 1);
	TAKE(&t, pid, USER, 0x7010);
	TAKE(&t, pid, USER, 0x7040);
	TAKE(&t, pid, USER, 0x7080);
	TAKE(&t, CHILD, USER, code + 1); /* another file of that name was mapped there */
	assert_int_equal(stack_names_tell(&t.packets, &t.spaces, t.now_ns, pass, &t), 0);
	end(&t);
	unlink(path);

	const struct run *run = t.scene.run;
	assert_string_equal(stack_text(run, 0), "processes");
	assert_string_equal(stack_text(run, 1), "LazyCompile:*run a.js:1");
	assert_string_equal(stack_text(run, 2), path);
	assert_string_equal(stack_text(run, 3), "js::run()");
	assert_string_equal(stack_text(run, 4), self);
	close_scene(&t.scene);
}

/* More names than the writer takes at once, and one that is longer than readers keep. */
static void many_long_names(void **state)
{
	enum { FUNCTIONS = 1000, NAME_BYTES = 400, LONG_BYTES = 200 << 10 };
	static char name[LONG_BYTES + 1];
	char path[64];
	struct taker t;
	uint32_t pid = (uint32_t)getpid();
	(void)state;

	start(&t);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	FILE *made = fopen(path, "w");
	assert_non_null(made);
	memset(name, 'f', LONG_BYTES);
	for (unsigned i = 0; i <= FUNCTIONS; i++)
		fprintf(made, "%x 10 %04u%.*s\n", 0x7000 + 16 * i, i,
			i < FUNCTIONS ? NAME_BYTES : LONG_BYTES, name);
	fclose(made);
	map(&t, pid, 0x7000, 16 * (FUNCTIONS + 1), 0, "//anon");
	for (unsigned i = 0; i <= FUNCTIONS; i++)
		TAKE(&t, pid, USER, 0x7000 + 16 * i);
	assert_int_equal(stack_names_tell(&t.packets, &t.spaces, t.now_ns, pass, &t), 0);
	end(&t);
	unlink(path);

	const struct run *run = t.scene.run;
	assert_int_equal(run->function_count, FUNCTIONS + 1);
	for (size_t i = 0; i <= FUNCTIONS; i++) {
		const char *text = run->functions[run->calls[run->stacks[i].call].function].name;
		assert_non_null(text);
		assert_int_equal(strtoul(text, NULL, 10), i);
		assert_in_range(strlen(text), 4 + NAME_BYTES, 64 << 10);
	}
	close_scene(&t.scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_and_callers),
		cmocka_unit_test(processes),
		cmocka_unit_test(more_than_is_kept),
		cmocka_unit_test(lost_packets),
		cmocka_unit_test(names),
		cmocka_unit_test(many_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
