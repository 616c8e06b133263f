/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick doctor`: says which parts of Brick will work on this machine, which will not and why, and
 * gives advice: the clock, CPUs, counters, memory for sessions, attachers, devices, ggml's
 * libraries, the terminal. For a program, it says in advance which attachers will work.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <langinfo.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/machine/ceilings_file.h"
#include "attach/patch/image.h"
#include "attach/rules/ggml_symbols.h"
#include "base/array.h"
#include "base/date.h"
#include "base/file.h"
#include "base/order.h"
#include "base/path_name.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/recorded.h"
#include "brick/clock.h"
#include "brick/counters.h"
#include "brick/device.h"
#include "brick/error.h"
#include "brick/export.h"
#include "brick/version.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/foresight.h"
#include "cli/options.h"
#include "cli/program_files.h"
#include "record/inject/inject.h"
#include "record/session_dir.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* works, but not as well as it could */
	DOCTOR_NO,	/* does not work */
	DOCTOR_ABSENT,	/* shown as "no", too: this machine has no such thing, which is no fault */
};

struct doctor_check {
	const char *group, *name;
	enum doctor_status status;
	char *finding;	      /* what is so, and why */
	char *advice;	      /* what to do about it; NULL: nothing */
	const char *attaches; /* what is attached to; NULL: it is of something else */
	bool is_certain;      /* ... and not only if the program uses it */
};

/* One symbol that Brick stands in front of. */
struct doctor_hook {
	const char *symbol, *gives;
	int defined, reached; /* exported; called through the dynamic linker */
};

struct doctor_engine {
	char *path;
	char *files; /* names of the objects that were looked at */
	struct doctor_hook hooks[GGML_SYMBOL_COUNT];
	size_t hook_count;
	enum doctor_status status;
	char *method;
};

struct doctor {
	ARRAY(struct doctor_check) checks;
	ARRAY(struct doctor_engine) engines;
	bool is_of_program; /* the answer is about one program */
	bool cannot_record; /* nothing at all can be recorded on this machine */
};

/* Add an entry; the pointer is valid until the next call. group and name are static texts. */
static struct doctor_check *doctor_add(struct doctor *doctor, const char *group, const char *name,
	enum doctor_status status, const char *advice, const char *format, ...)
{
	char *finding = NULL;
	va_list arguments;
	va_start(arguments, format);
	int n = vasprintf(&finding, format, arguments);
	va_end(arguments);
	if (n < 0)
		die(CLI_SYSTEM, "out of memory");
	xpush(&doctor->checks, (struct doctor_check){.group = group,
				       .name = name,
				       .status = status,
				       .finding = finding,
				       .advice = advice ? xstrdup(advice) : NULL});
	return &doctor->checks.items[doctor->checks.count - 1];
}

/* The clock. */

/* 1 if the first CPU's flags in /proc/cpuinfo have a word, else 0; -1: there are no flags. */
static int has_cpu_flag(const char *flag)
{
	char flags[4096] = "";
	file_field("/proc/cpuinfo", "flags", flags, sizeof(flags));
	if (!*flags)
		return -1;
	for (char *word = strtok(flags, " "); word; word = strtok(NULL, " "))
		if (!strcmp(word, flag))
			return 1;
	return 0;
}

/*
 * The smallest difference between two readings that is not rare. On some CPUs, two readings within
 * one step of the counter differ by 1 now and then, so the overall minimum means nothing.
 */
static uint32_t usual_step(void)
{
	enum { READINGS = 20000, LONGEST = 4096 };
	uint32_t counts[LONGEST] = {0};
	uint64_t last = brick_ticks();
	for (int i = 0; i < READINGS; i++) {
		uint64_t now = brick_ticks();
		counts[now - last < LONGEST ? now - last : LONGEST - 1]++;
		last = now;
	}
	for (uint32_t step = 1; step < LONGEST - 1; step++)
		if (counts[step] > READINGS / 100)
			return step;
	return brick_clock_get()->step_ticks;
}

static void doctor_clock(struct doctor *doctor)
{
	const struct brick_clock *clock = brick_clock_get();
	const char *reason = brick_clock_reason();
	char residual[UNITS_BYTES], source[64];
	double step_ns = clock->frequency ? 1e9 * usual_step() / (double)clock->frequency : 0;
	units_time(residual, clock->residual_ns);
	doctor_add(doctor, "Clock", "clock", *reason ? DOCTOR_LIMITED : DOCTOR_OK,
		"times are right, but each costs more to take",
		"%s at %.3f GHz, within %s of CLOCK_MONOTONIC, in steps of %.0f ns (what is "
		"shorter is resolved on average only)%s%s",
		brick_clock_source_name(clock->source), (double)clock->frequency / 1e9, residual,
		step_ns, *reason ? "; nothing better because " : "", reason);
	int constant = has_cpu_flag("constant_tsc"), nonstop = has_cpu_flag("nonstop_tsc");
	if (constant >= 0)
		doctor_add(doctor, "Clock", "tsc",
			constant && nonstop > 0 ? DOCTOR_OK : DOCTOR_LIMITED, NULL,
			"the CPU says that its TSC %s at a constant rate and %s in sleep",
			constant ? "runs" : "does not run", nonstop ? "goes on" : "stops");
	if (file_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		    sizeof(source)))
		doctor_add(doctor, "Clock", "kernel", DOCTOR_OK, NULL,
			"the kernel itself keeps time by %s", source);
}

/* CPUs. */

/* The control group's limit of CPU time, in CPUs; negative: no limit. */
static double cgroup_limit(void)
{
	char line[128], path[512] = "/sys/fs/cgroup/cpu.max";
	double least = -1;
	/* limits of the group and of all above it; in a container, the root is the container's */
	FILE *file = fopen("/proc/self/cgroup", "re");
	char entry[400];
	while (file && fgets(entry, sizeof(entry), file))
		if (!strncmp(entry, "0::", 3)) {
			entry[strcspn(entry, "\n")] = '\0';
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", entry + 3);
		}
	if (file)
		fclose(file);
	const char *const places[] = {path, "/sys/fs/cgroup/cpu.max"};
	for (size_t i = 0; i < 2; i++) {
		double quota, period;
		if (file_line(places[i], line, sizeof(line)) &&
			sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0 &&
			(least < 0 || quota / period < least))
			least = quota / period;
	}
	return least;
}

/* Counters and ceilings. */

/* "a, b": the names of the counters in `kinds` that can, or cannot, be counted; NULL: none. */
static char *cmd_doctor_names_of(uint32_t kinds, bool countable)
{
	char *names = NULL, reason[200];

	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		if (!(kinds & 1u << kind) ||
			!brick_counters_available(kind, reason, sizeof(reason)) != countable)
			continue;
		xappend(&names, ", ", "%s", brick_counters_name(kind));
	}
	return names;
}

static int cmd_doctor_first_error(uint32_t kinds, char *reason, size_t bytes)
{
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		int error = kinds & 1u << kind ? brick_counters_available(kind, reason, bytes) : 0;
		if (error)
			return error;
	}
	return 0;
}

static void add_counters(struct doctor *doctor, const char *name, uint32_t kinds)
{
	char reason[200] = "";
	int error = cmd_doctor_first_error(kinds, reason, sizeof(reason));
	bool denied = error == -EACCES || error == -EPERM;
	SCOPED char *yes = cmd_doctor_names_of(kinds, true),
		    *no = cmd_doctor_names_of(kinds, false);

	if (!no)
		doctor_add(doctor, "Machine", name, DOCTOR_OK, NULL, "%s can be counted", yes);
	else
		doctor_add(doctor, "Machine", name, denied || yes ? DOCTOR_LIMITED : DOCTOR_ABSENT,
			denied ? "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON for the "
				 "program"
			       : "times do not need them; on a virtual machine they are the host's "
				 "to give",
			"%s unavailable: %s%s%s", no, reason, yes ? "; can be counted: " : "",
			yes ? yes : "");
}

static void doctor_machine(struct doctor *doctor)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	int allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
	double limit = cgroup_limit();
	bool less = allowed && allowed < online;
	doctor_add(doctor, "Machine", "cpus", less || online < 2 ? DOCTOR_LIMITED : DOCTOR_OK,
		less ? "a program recorded from here has no more either"
		     : "the recorder takes turns with the program: expect more distortion",
		"%ld online, %d of them for this process", online, allowed);
	if (limit >= 0)
		doctor_add(doctor, "Machine", "quota",
			limit < (double)(allowed ? allowed : online) ? DOCTOR_LIMITED : DOCTOR_OK,
			"a control group (container) takes the CPU away when it is used up: times "
			"then hold pauses that are no work",
			"%.2f CPUs' worth of time", limit);
	char governor[64];
	if (file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
		    sizeof(governor))) {
		bool steady = !strcmp(governor, "performance");
		doctor_add(doctor, "Machine", "governor", steady ? DOCTOR_OK : DOCTOR_LIMITED,
			"for comparable numbers: cpupower frequency-set -g performance",
			"CPU frequency is governed by '%s'", governor);
	}
	add_counters(doctor, "counters", BRICK_COUNTERS_HARDWARE);
	add_counters(doctor, "sw counters", BRICK_COUNTERS_SOFTWARE);
	static struct cpu_info info;
	SCOPED_TO(ceilings_destroy) struct ceilings *ceilings = NULL;
	struct ceilings_error error;
	char text[DATE_BYTES];
	cpu_info_read(&info);
	SCOPED char *path = ceilings_cache_path(info.host, info.model);
	int rc = path ? ceilings_read(&ceilings, path, &error) : -ENOENT;
	const char *stale = ceilings ? ceilings_stale(ceilings, &info) : NULL;
	const char *date = ceilings ? date_text(text, ceilings->unix_ns, "%Y-%m-%d") : NULL;
	if (ceilings && !stale)
		doctor_add(doctor, "Machine", "ceilings", DOCTOR_OK, NULL, "measured %s%s",
			date ? date : "at an unknown time", ceilings->quick ? ", in a hurry" : "");
	else
		doctor_add(doctor, "Machine", "ceilings", DOCTOR_LIMITED,
			"run 'brick ceilings' once, while the machine does nothing else", "%s",
			stale		? stale
			: rc == -ENOENT ? "not measured yet: 'brick roofline' needs them"
					: error.text);
}

/* How programs are attached to. */

/* Environment with one variable replaced; entries are borrowed but for the last. */
static char **environment_with(const char *name, const char *value)
{
	size_t count = 0, used = 0, length = strlen(name);
	while (environ[count])
		count++;
	char **copy = xcalloc(count + 2, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], name, length) || environ[i][length] != '=')
			copy[used++] = environ[i];
	copy[used] = xasprintf("%s=%s", name, value);
	return copy;
}

static int start_preloaded(const char *library, int output, pid_t *pid)
{
	char *argv[] = {"cat", "/proc/self/maps", NULL};
	char **environment = environment_with("LD_PRELOAD", library);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_adddup2(&actions, output, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int error = posix_spawnp(pid, "cat", &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	size_t last = 0;
	while (environment[last + 1])
		last++;
	free(environment[last]);
	free(environment);
	return error;
}

/*
 * Preload a library into a program. 1: it was loaded; 0: `why` has the reason, in the dynamic
 * linker's words if it gave any.
 */
static bool doctor_try_preload(const char *library, char *why, size_t size)
{
	int ends[2], status = 0;
	bool seen = false;
	pid_t pid;
	snprintf(why, size, "a test program could not be run");
	if (pipe(ends) != 0)
		return false;
	int error = start_preloaded(library, ends[1], &pid);
	close(ends[1]);
	FILE *list = error ? NULL : fdopen(ends[0], "r");
	char line[PATH_MAX + 200], complaint[512] = "";
	unsigned long from, to;
	while (list && fgets(line, sizeof(line), list)) {
		bool is_map = sscanf(line, "%lx-%lx ", &from, &to) == 2;
		seen |= is_map && strstr(line, library) != NULL;
		if (!is_map && !complaint[0])
			snprintf(complaint, sizeof(complaint), "%.*s", (int)strcspn(line, "\n"),
				line);
	}
	if (list)
		fclose(list);
	else
		close(ends[0]);
	if (error)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	snprintf(why, size, "%s", complaint[0] ? complaint : "the dynamic linker ignored it");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && seen;
}

/* 1: the library has a text about itself. */
static bool ask_here(const char *library, int *status, char *text, size_t bytes)
{
	brick_attacher_check_fn check = NULL;
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	void *found = handle ? dlsym(handle, BRICK_ATTACHER_CHECK) : NULL;

	if (!found)
		return false;
	memcpy(&check, &found, sizeof(check));
	*status = check(text, bytes);
	text[bytes - 1] = '\0';
	return true;
}

struct answer {
	bool any;
	int status;
	char text[PATH_MAX + 256];
};

/* Asks a library in a child process, because the library may crash, or leave threads behind. */
static struct answer ask_library(const char *library)
{
	struct answer answer = {0};
	int ends[2];

	if (pipe(ends) != 0)
		return answer;
	pid_t pid = fork();
	if (pid == 0) {
		answer.any = ask_here(library, &answer.status, answer.text, sizeof(answer.text));
		ssize_t n = write(ends[1], &answer, sizeof(answer));
		_exit(n == (ssize_t)sizeof(answer) ? 0 : 1);
	}
	close(ends[1]);
	size_t got = 0;
	for (ssize_t n = 1; pid > 0 && n > 0 && got<sizeof(answer); got += n> 0 ? (size_t)n : 0)
		n = read(ends[0], (char *)&answer + got, sizeof(answer) - got);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (got < sizeof(answer))
		answer = (struct answer){pid > 0, -1, "its library crashed when it was asked"};
	return answer;
}

static void add_missing(
	struct doctor *doctor, const struct attacher *a, enum inject_obstacle obstacle)
{
	const char *name = a->doctor_name ? a->doctor_name : a->name;

	if (obstacle == INJECT_BAD_PATH)
		doctor_add(doctor, "Recording", name, DOCTOR_NO, a->if_refused, "%s",
			inject_obstacle_text(obstacle));
	else
		doctor_add(doctor, "Recording", name, a->if_missing ? DOCTOR_ABSENT : DOCTOR_NO,
			a->if_missing ? a->if_missing : "install Brick whole",
			"%s was not found beside this program (in ../lib): %s programs are not "
			"attached to",
			a->library, a->title);
}

static void add_present(struct doctor *doctor, const struct attacher *a, const char *library)
{
	const char *name = a->doctor_name ? a->doctor_name : a->name;
	struct answer answer = ask_library(library);

	if (answer.any && answer.status < 0)
		doctor_add(doctor, "Recording", name, DOCTOR_NO, a->if_refused, "%s", answer.text);
	else if (answer.any || a->finding)
		doctor_add(doctor, "Recording", name, DOCTOR_OK, NULL, "%s",
			answer.any ? answer.text : a->finding);
	else
		doctor_add(doctor, "Recording", name, DOCTOR_OK, NULL, "%s can be %s into programs",
			library, a->entry == ATTACHER_PRELOAD ? "preloaded" : "loaded");
}

static void add_attacher(struct doctor *doctor, const struct attacher *a)
{
	const char *name = a->doctor_name ? a->doctor_name : a->name;
	char library[PATH_MAX], why[512];

	if (!inject_has_driver(a)) {
		doctor_add(doctor, "Recording", name, DOCTOR_ABSENT, NULL,
			"no %s programs here: %s is missing", a->title, a->driver);
		return;
	}
	enum inject_obstacle obstacle = inject_library(a, library, sizeof(library));
	if (obstacle != INJECT_FINE)
		add_missing(doctor, a, obstacle);
	else if (a->entry == ATTACHER_PRELOAD && !doctor_try_preload(library, why, sizeof(why)))
		doctor_add(doctor, "Recording", name, DOCTOR_NO, a->if_refused,
			"%s cannot be preloaded: %s", library, why);
	else
		add_present(doctor, a, library);
}

/* Recording. */

static void add_sessions(struct doctor *doctor)
{
	struct session_dir dir;
	struct statvfs vfs;
	char space[UNITS_BYTES] = "unknown";
	int rc = session_dir_create(&dir);
	if (rc < 0) {
		doctor->cannot_record = true;
		doctor_add(doctor, "Recording", "sessions", DOCTOR_NO,
			"make /dev/shm or TMPDIR writable, with 64 MB free",
			"no place for shared memory: %s", strerror(-rc));
		return;
	}
	uint64_t bytes = 0;
	if (statvfs(dir.path, &vfs) == 0)
		bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	bool memory = !strncmp(dir.path, "/dev/shm/", 9);
	/* A thread's ring takes 8 MiB. */
	bool small = bytes < (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 4 * (8 << 20);
	*strrchr(dir.path, '/') = '\0';
	doctor_add(doctor, "Recording", "sessions", memory && !small ? DOCTOR_OK : DOCTOR_LIMITED,
		memory ? "programs with many threads may find no room: enlarge /dev/shm"
		       : "a disk is slower than memory: mount a tmpfs on /dev/shm with 64 MB or "
			 "more",
		"in %s, %s free, about %s a thread", dir.path, units_bytes(space, bytes), "8.4MB");
	dir.path[strlen(dir.path)] = '/';
	session_dir_remove(&dir);
}

static void add_ptrace(struct doctor *doctor)
{
	static const char *const meanings[] = {"any process of the same user", "children only",
		"with CAP_SYS_PTRACE only", "nobody"};
	char scope[32];
	if (!file_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return;
	int level = atoi(scope);
	doctor_add(doctor, "Recording", "ptrace", level >= 2 ? DOCTOR_LIMITED : DOCTOR_OK,
		"attaching by preloading does not need it", "may trace: %s (ptrace_scope %d)",
		meanings[level >= 0 && level <= 3 ? level : 3], level);
}

static void doctor_attach(struct doctor *doctor)
{
	add_sessions(doctor);
	for (const struct attacher *const *a = attachers; *a; a++)
		add_attacher(doctor, *a);
	add_ptrace(doctor);
	char restrict_[32];
	if (file_line("/proc/sys/kernel/kptr_restrict", restrict_, sizeof(restrict_)))
		doctor_add(doctor, "Recording", "kernel names", DOCTOR_OK, NULL,
			"kptr_restrict %s; Brick looks at user space only", restrict_);
	struct rlimit limit;
	char bytes[UNITS_BYTES];
	bool is_known = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
	if (is_known && limit.rlim_cur == RLIM_INFINITY)
		doctor_add(doctor, "Recording", "memlock", DOCTOR_OK, NULL,
			"memory may be locked without limit");
	else if (is_known)
		doctor_add(doctor, "Recording", "memlock", DOCTOR_OK, NULL,
			"up to %s may be locked (not needed: rings are touched before use)",
			units_bytes(bytes, limit.rlim_cur));
}

/* Devices. */

static const char *cmd_doctor_times_of(uint32_t source)
{
	switch (source) {
	case BRICK_SOURCE_TSC:
		return "readings of the host's clock";
	case BRICK_SOURCE_DEVICE_EVENT:
		return "events on the device";
	case BRICK_SOURCE_DEVICE_ACTIVITY:
		return "activity records of its driver";
	case BRICK_SOURCE_TIMESTAMP_QUERY:
		return "timestamps in the device's command stream";
	default:
		return "a source of its own";
	}
}

static void doctor_devices(struct doctor *doctor)
{
	const struct brick_backend *backend;
	const char *path, *reason;
	for (uint32_t i = 0; (backend = brick_backend_at(i)) != NULL; i++) {
		char words[256] = "";
		int error = backend->probe(words, sizeof(words));
		if (error < 0)
			doctor_add(doctor, "Backends", backend->name, DOCTOR_ABSENT, NULL, "%s",
				words[0] ? words : brick_strerror(error));
		else if (!strcmp(backend->name, "null"))
			doctor_add(doctor, "Backends", backend->name, DOCTOR_OK, NULL,
				"works: a simulated device, for tests and benches");
		else
			doctor_add(doctor, "Backends", backend->name, DOCTOR_OK, NULL,
				"works: times are %s%s%s", cmd_doctor_times_of(backend->source),
				words[0] ? "; " : "", words);
	}
	for (uint32_t i = 0; (path = brick_backend_refused(i, &reason)) != NULL; i++)
		doctor_add(doctor, "Backends", "library", DOCTOR_NO,
			"BRICK_BACKEND_PATH leads to it: build it against this version, or leave "
			"it out",
			"%s: %s", path, reason);
}

/* The terminal. */

static void doctor_surroundings(struct doctor *doctor)
{
	struct terminal terminal;
	const char *no_color = getenv("NO_COLOR");
	terminal_init(&terminal, stdout);
	doctor_add(doctor, "Output", "characters", terminal.utf8 ? DOCTOR_OK : DOCTOR_LIMITED,
		"for lines and units as they should be: LANG=C.UTF-8",
		"the locale's character set is %s", nl_langinfo(CODESET));
	if (!terminal.is_terminal)
		doctor_add(doctor, "Output", "terminal", DOCTOR_OK, NULL,
			"this output is no terminal: no colours, all columns");
	else
		doctor_add(doctor, "Output", "terminal",
			terminal.width < 80 ? DOCTOR_LIMITED : DOCTOR_OK,
			"tables leave out columns below 80, and show all from about 200 on",
			"%zu columns, %s", terminal.width,
			terminal.colours	? "colours"
			: no_color && *no_color ? "no colours, as NO_COLOR wants it"
						: "no colours");
	doctor_add(doctor, "Output", "compression", DOCTOR_OK, NULL,
		"recordings are packed, by means of Brick's own");
}

enum { DEPTH_MAX = 10, ENGINES_MAX = 64, FILES_MAX = 256 };

/* Ggml's libraries. */

/* True if the file's name is that of a library that may contain ggml. */
static bool is_candidate(const char *name)
{
	static const char *const patterns[] = {
		"libggml*.so*", "libllama*.so*", "libwhisper*.so*", "libstable-diffusion*.so*"};
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

/* Add a file's symbols to the engine's. 0; negative: the file has no symbols that can be read. */
static int cmd_doctor_look_at(struct doctor_engine *engine, const char *path)
{
	struct image image;
	int rc = image_open(&image, path);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT && image.has_dynamic; i++) {
		const struct ggml_symbol *symbol = &ggml_symbols[i];
		struct doctor_hook *hook = &engine->hooks[i];
		bool exports = image_exports(&image, symbol->name);
		hook->defined |= exports;
		/* The program itself calls it through the dynamic linker. */
		hook->reached |= image_reaches(&image, symbol->name) ||
				 (exports && symbol->library == GGML_IN_PROGRAM);
	}
	rc = image.has_dynamic ? 0 : BRICK_ENOTRECORDED;
	image_close(&image);
	if (rc == 0) {
		/* calls of functions that would be patched bypass the dynamic linker */
		struct program_ggml ggml;
		if (!program_ggml(&ggml, path) && ggml.way == PROGRAM_GGML_PATCHED)
			for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++) {
				engine->hooks[i].defined |= ggml.reached[i];
				engine->hooks[i].reached |= ggml.reached[i];
			}
	}
	return rc;
}

/* How nodes are timed, as the injected library will decide by the same functions. */
struct outlook {
	enum ggml_way way;
	bool waits; /* waiting is recorded apart from work */
	bool steps;
};

static struct outlook outlook_of(const char reached[GGML_SYMBOL_COUNT], bool cpu_only)
{
	struct outlook o = {.way = ggml_way_of(reached, cpu_only, false)};

	o.waits = reached[GGML_BARRIER] || reached[GGML_COMPUTE_FORWARD];
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		o.steps |= ggml_symbols[i].use == GGML_FOR_STEPS && reached[i];
	return o;
}

static const char *way_text(enum ggml_way way)
{
	static const char *const texts[] = {
		[GGML_WAY_NODES] = "each node is timed on each thread, without splitting the graph",
		[GGML_WAY_CALLBACK] =
			"each node is timed by the scheduler's evaluation callback, which splits "
			"the graph: " FORESIGHT_SPLITS_COST,
		[GGML_WAY_GRAPHS] = "steps and whole graphs are timed, and no single node: the "
				    "functions that are called for each node cannot be hooked",
		[GGML_WAY_NONE] = "nothing: none of the functions that Brick hooks can be hooked",
	};

	return texts[way];
}

static void cmd_doctor_judge(struct doctor_engine *engine)
{
	char reached[GGML_SYMBOL_COUNT];
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		reached[i] = engine->hooks[i].defined && engine->hooks[i].reached;
	struct outlook o = outlook_of(reached, true);
	engine->status = o.way == GGML_WAY_NONE				 ? DOCTOR_NO
			 : o.way == GGML_WAY_NODES && o.waits && o.steps ? DOCTOR_OK
									 : DOCTOR_LIMITED;
	engine->method = xasprintf("%s%s%s", way_text(o.way),
		o.way == GGML_WAY_NODES && !o.waits ? "; waiting is not kept apart from work" : "",
		o.way != GGML_WAY_NONE && !o.steps ? "; steps are not seen" : "");
	/* drop symbols that give nothing to name: the list does not show them */
	size_t kept = 0;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (engine->hooks[i].gives)
			engine->hooks[kept++] = engine->hooks[i];
	engine->hook_count = kept;
}

static struct doctor_engine *new_engine(struct doctor *doctor, const char *path)
{
	if (doctor->engines.count == ENGINES_MAX)
		return NULL;
	xpush(&doctor->engines,
		(struct doctor_engine){.path = xstrdup(path), .files = xstrdup("")});
	struct doctor_engine *engine = &doctor->engines.items[doctor->engines.count - 1];
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		engine->hooks[i] =
			(struct doctor_hook){ggml_symbols[i].name, ggml_symbols[i].gives, 0, 0};
	return engine;
}

static bool cmd_doctor_is_known(const struct doctor *doctor, const char *path)
{
	for (size_t i = 0; i < doctor->engines.count; i++)
		if (!strcmp(doctor->engines.items[i].path, path))
			return true;
	return false;
}

static void look_at_directory(
	struct doctor *doctor, const char *path, char *const *names, size_t count)
{
	char real[PATH_MAX];
	bool any = false;
	for (size_t i = 0; i < count; i++)
		any |= fnmatch("libggml*.so*", names[i], 0) == 0;
	if (!any || !realpath(path, real) || cmd_doctor_is_known(doctor, real))
		return;
	struct doctor_engine *engine = new_engine(doctor, real);
	for (size_t i = 0; engine && i < count; i++) {
		if (!is_candidate(names[i]))
			continue;
		SCOPED char *file = xasprintf("%s/%s", real, names[i]);
		if (cmd_doctor_look_at(engine, file) == 0)
			xappend(&engine->files, " ", "%s", names[i]);
	}
	if (engine)
		cmd_doctor_judge(engine);
}

/* A directory, and those below it down to a depth; links are not followed. */
static void cmd_doctor_search(struct doctor *doctor, const char *path, int depth)
{
	SCOPED char **names = xcalloc(FILES_MAX * 16, sizeof(*names));
	DIR *directory = opendir(path);
	struct dirent *entry;
	size_t count = 0;
	while (directory && count < FILES_MAX * 16 && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			names[count++] = xstrdup(entry->d_name);
	if (directory)
		closedir(directory);
	qsort(names, count, sizeof(*names), order_texts);
	look_at_directory(doctor, path, names, count);
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		SCOPED char *below = xasprintf("%s/%s", path, names[i]);
		if (depth > 0 && lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			cmd_doctor_search(doctor, below, depth - 1);
		free(names[i]);
	}
}

static void cmd_doctor_add_named(struct doctor *doctor, const char *path)
{
	struct stat st;
	size_t before = doctor->engines.count;
	if (stat(path, &st) != 0) {
		doctor_add(
			doctor, "ggml", "engine", DOCTOR_NO, NULL, "%s: %s", path, strerror(errno));
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		cmd_doctor_search(doctor, path, DEPTH_MAX);
		if (doctor->engines.count == before && !cmd_doctor_is_known(doctor, path))
			doctor_add(doctor, "ggml", "engine", DOCTOR_NO, NULL,
				"%s: no libggml*.so in it", path);
		return;
	}
	struct doctor_engine *engine = new_engine(doctor, path);
	int rc = engine ? cmd_doctor_look_at(engine, path) : 0;
	if (!engine)
		return;
	cmd_doctor_judge(engine);
	if (rc < 0) {
		free(engine->method);
		engine->method = xasprintf("nothing: %s",
			rc == BRICK_ENOTRECORDED
				? "it exports no symbols; what is inside of it is out of reach"
				: brick_strerror(rc));
		engine->status = DOCTOR_NO;
	}
}

/* paths: directories and files that the user named, NULL-terminated. */
static void doctor_ggml(struct doctor *doctor, const char *const *paths)
{
	static const char *const usual[] = {"/usr/lib", "/usr/local/lib", "/usr/lib64",
		"/usr/local/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu/ggml", "/usr/lib/aarch64-linux-gnu/ggml"};
	for (size_t i = 0; paths[i]; i++)
		cmd_doctor_add_named(doctor, paths[i]);
	if (!paths[0]) {
		const char *list = getenv("LD_LIBRARY_PATH");
		SCOPED char *copy = xstrdup(list ? list : "");
		char *rest = copy, *path;
		while ((path = strsep(&rest, ":")))
			if (*path)
				cmd_doctor_search(doctor, path, 0);
		cmd_doctor_search(doctor, "node_modules/@node-llama-cpp", DEPTH_MAX);
		cmd_doctor_search(
			doctor, "build/demo/engine/node_modules/@node-llama-cpp", DEPTH_MAX);
		for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
			cmd_doctor_search(doctor, usual[i], 0);
	}
	size_t well = 0;
	for (size_t i = 0; i < doctor->engines.count; i++)
		well += doctor->engines.items[i].status == DOCTOR_OK;
	if (doctor->engines.count)
		doctor_add(doctor, "ggml", "libraries",
			well == doctor->engines.count ? DOCTOR_OK : DOCTOR_LIMITED, NULL,
			"%zu set%s found, %zu of which can be recorded node by node",
			doctor->engines.count, doctor->engines.count == 1 ? "" : "s", well);
	else if (!paths[0])
		doctor_add(doctor, "ggml", "libraries", DOCTOR_ABSENT,
			"point to an engine's libraries with --engine DIR",
			"none found in LD_LIBRARY_PATH, the usual directories and ./node_modules");
}

/* One program. */

#define GROUP "Program"

static void add_obstacle(struct doctor *doctor, enum inject_obstacle obstacle)
{
	doctor->cannot_record |= obstacle != INJECT_FINE;
	if (obstacle == INJECT_FINE)
		doctor_add(doctor, GROUP, "preload", DOCTOR_OK, NULL,
			"Brick's libraries can be preloaded");
	else
		doctor_add(doctor, GROUP, "preload", DOCTOR_NO, inject_obstacle_advice(obstacle),
			"%s; it runs as ever, and nothing is attached",
			inject_obstacle_text(obstacle));
}

/* is_open: libraries can be preloaded into the program. */
static void cmd_doctor_add_way(
	struct doctor *doctor, const char *path, const struct program_ggml *ggml, bool is_open)
{
	switch (ggml->way) {
	case PROGRAM_GGML_NONE:
		break;
	case PROGRAM_GGML_LINKED:
		doctor_add(doctor, GROUP, "ggml", DOCTOR_OK, NULL,
			"%s: %zu functions, called through the dynamic linker", path,
			ggml->functions);
		break;
	case PROGRAM_GGML_PATCHED:
		doctor_add(doctor, GROUP, "ggml",
			!is_open	 ? DOCTOR_NO
			: *ggml->refused ? DOCTOR_LIMITED
					 : DOCTOR_OK,
			is_open ? "what these functions would tell is missing; all others are "
				  "hooked"
				: NULL,
			"%s: %zu functions, called within it: they %s jumps to Brick's hooks "
			"%s%s%s",
			path, ggml->functions, is_open ? "get" : "would get",
			is_open ? "when it is loaded" : "if Brick's libraries were in it",
			*ggml->refused ? ", but not " : "", ggml->refused);
		break;
	case PROGRAM_GGML_STRIPPED:
		doctor_add(doctor, GROUP, "ggml", DOCTOR_NO, ggml->advice, "%s: %s", path,
			ggml->missing);
		break;
	case PROGRAM_GGML_UNKNOWN:
		doctor_add(doctor, GROUP, "ggml", DOCTOR_LIMITED,
			"build Brick where Zydis is (Debian: libzydis-dev)",
			"%s: this Brick cannot look into programs", path);
		break;
	}
}

/* How ggml's nodes will be recorded. */
static void cmd_doctor_add_outcome(struct doctor *doctor, const struct program_outlook *p)
{
	struct outlook o = outlook_of(p->reached, !p->has_device);
	bool steps = o.steps || p->has_whisper, is_whole = o.way == GGML_WAY_NODES;
	bool is_sure = p->is_certain || !p->opened;
	const char *advice =
		is_whole ? steps ? "what threads wait for each other is their nodes' "
				   "time"
				 : "a step is a graph then, and its tokens are not known"
		: o.way == GGML_WAY_CALLBACK
			? "--attach graph leaves the graph whole, and times no nodes"
			: NULL;
	struct doctor_check *check = doctor_add(doctor, GROUP, "nodes",
		o.way == GGML_WAY_NONE	       ? DOCTOR_NO
		: is_whole && steps && o.waits ? DOCTOR_OK
					       : DOCTOR_LIMITED,
		advice, "%s%s%s%s%s", way_text(o.way),
		is_whole && !o.waits ? "; waiting is not kept apart from work" : "",
		!is_whole	 ? ""
		: p->has_whisper ? "; steps are known from whisper's graphs"
		: steps		 ? ""
				 : "; no llama.cpp: steps are not seen",
		is_sure ? "" : ", if the program uses ", is_sure ? "" : path_name(p->opened));

	check->attaches = o.way == GGML_WAY_NONE ? NULL : "ggml";
	check->is_certain = p->is_certain;
	if (p->hides_device_nodes)
		doctor_add(doctor, GROUP, "devices", DOCTOR_LIMITED,
			"build it without link-time optimisation (-DGGML_LTO=OFF, no -flto), or "
			"with -DBUILD_SHARED_LIBS=ON",
			"nodes on a device are not told apart: the backend inside calls no "
			"function for each; their time is the graph's");
}

/* Engines for which there is no attacher. */
static void add_stranger(struct doctor *doctor, const char *path)
{
	static const struct {
		const char *library, *engine;
	} strangers[] = {
		{"libtensorflow", "TensorFlow"},
		{"libopenvino.so", "OpenVINO"},
		{"libncnn.so", "ncnn"},
		{"libopencv_dnn.so", "OpenCV's networks"},
	};

	for (size_t i = 0; i < sizeof(strangers) / sizeof(*strangers); i++)
		if (path_is_called(path, strangers[i].library))
			doctor_add(doctor, GROUP, "engine", DOCTOR_LIMITED,
				"its devices are recorded, and its functions by record --sample",
				"%s: %s has no attacher; of its work on the CPU only what it says "
				"by ITT, NVTX or libbrick is seen",
				path, strangers[i].engine);
}

/* A program in Go cannot be recorded itself, but the C libraries that it calls can. */
static void add_go(struct doctor *doctor, const char *path)
{
	bool is_static = inject_examine(path) == INJECT_STATIC, is_go = false;
	struct image image;

	if (image_open(&image, path))
		return;
	for (size_t i = 0; i < image.parts.count; i++)
		is_go |= !strcmp(image.parts.items[i].name, ".go.buildinfo");
	image_close(&image);
	if (is_go)
		doctor_add(doctor, GROUP, "go", is_static ? DOCTOR_NO : DOCTOR_LIMITED,
			"what it starts is recorded as well: look at that (of what cannot be, "
			"32-bit programs start with a line of their linker for each library)",
			"%s is a program in Go%s", path,
			is_static ? ", without libraries in C: nothing of it is attached to"
				  : ": libraries in C that it calls are attached to, its own "
				    "functions are not");
}

static void look_at_files(struct doctor *doctor, const struct program_files *files)
{
	SCOPED_BY(foresight_fini) struct foresight f;
	bool is_open = files->obstacle == INJECT_FINE;

	foresight_of(&f, files);
	for (size_t i = 0; i < files->paths.count; i++) {
		const char *path = files->paths.items[i];
		add_stranger(doctor, path);
		if (f.ggml[i].way != PROGRAM_GGML_UNKNOWN || i == 0)
			cmd_doctor_add_way(doctor, path, &f.ggml[i], is_open);
	}
	if (is_open && f.outlook.has_ggml)
		cmd_doctor_add_outcome(doctor, &f.outlook);
	for (size_t i = 0; i < f.may.count; i++) {
		/* depends on the program's work, and on its files only as far as they speak for it
		 */
		const struct foreseen *may = &f.may.items[i];
		const struct attacher *a = may->attacher;
		struct doctor_check *check = doctor_add(doctor, GROUP, "may attach", DOCTOR_OK,
			NULL, "%s%s%s%s: %s if it is used; %s", a->title,
			may->version  ? " "
			: a->versions ? " ("
				      : "",
			may->version  ? may->version
			: a->versions ? a->versions
				      : "",
			!may->version && a->versions ? " only)" : "",
			may->without_gil && a->without_gil ? a->without_gil : a->recorded,
			may->why);
		check->attaches = a->title;
	}
	if (f.static_mpi)
		doctor_add(doctor, GROUP, "mpi", DOCTOR_ABSENT, "link it with a shared MPI",
			"%s " FORESIGHT_STATIC_MPI, f.static_mpi);
	if (f.has_libbrick)
		doctor_add(doctor, GROUP, "libbrick", DOCTOR_OK, NULL,
			"the program has it inside, and records itself");
	else if (is_open && !f.outlook.has_ggml && !f.may.count) {
		char kinds[INJECT_KINDS_BYTES];
		doctor_add(doctor, GROUP, "attaches", DOCTOR_ABSENT,
			files->is_process
				? NULL
				: "what it starts, opens or imports while it runs is attached to "
				  "all the same: 'brick doctor PID' tells while it runs",
			"nothing in its files speaks for %s", inject_kinds(kinds));
	}
}

static const char *reason(int error)
{
	return error == -ENOENT	  ? "there is no such command"
	       : error == -EISDIR ? "it is a directory"
				  : "it may not be run: it is not marked as executable";
}

static void doctor_command(struct doctor *doctor, char *const *command)
{
	struct program_files files;
	int error = program_files_of_command(&files, command, true);

	if (error) {
		doctor->cannot_record = true;
		doctor_add(doctor, GROUP, "program", DOCTOR_NO, NULL, "%s: %s", command[0],
			reason(error));
		return;
	}
	doctor_add(doctor, GROUP, "program", DOCTOR_OK, NULL, "%s%s, linked with %zu libraries",
		files.paths.items[0], files.interpreter ? ", which runs the script" : "",
		files.own - 1);
	add_go(doctor, files.paths.items[0]);
	add_obstacle(doctor, files.obstacle);
	if (files.obstacle == INJECT_FINE) {
		SCOPED char *named = NULL;
		for (size_t i = 0; i < files.named.count; i++)
			xappend(&named, ", ", "%s", files.named.items[i]);
		if (named)
			doctor_add(doctor, GROUP, "named", DOCTOR_OK, NULL,
				"%s, by the command or its script: looked at as well", named);
		for (size_t i = 0; i < files.closed.count; i++) {
			enum inject_obstacle obstacle = inject_examine(files.closed.items[i]);
			add_go(doctor, files.closed.items[i]);
			doctor_add(doctor, GROUP, "named", DOCTOR_NO,
				inject_obstacle_advice(obstacle),
				"%s, by the command or its script: %s; it runs unrecorded",
				files.closed.items[i], inject_obstacle_text(obstacle));
		}
	}
	look_at_files(doctor, &files);
	program_files_fini(&files);
}

static bool is_attached(const struct program_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		if (!strncmp(path_name(files->paths.items[i]), "libbrick-", 9))
			return true;
	return false;
}

/* One program, by the command that starts it, or by its process. */
static void doctor_process(struct doctor *doctor, long pid)
{
	struct program_files files;
	int error = program_files_of_process(&files, pid);

	if (error) {
		doctor->cannot_record = true;
		doctor_add(doctor, GROUP, "program", DOCTOR_NO,
			error == -ENOENT ? NULL : "ask as its user, or as root", "process %ld: %s",
			pid, error == -ENOENT ? "there is none" : strerror(-error));
		return;
	}
	bool attached = is_attached(&files);
	doctor_add(doctor, GROUP, "program", attached ? DOCTOR_OK : DOCTOR_LIMITED,
		"start it anew under brick record: nothing gets into a process that runs",
		"%s, process %ld, with %zu libraries%s", files.paths.items[0], pid,
		files.paths.count - 1, attached ? "; Brick is attached to it" : "");
	add_go(doctor, files.paths.items[0]);
	add_obstacle(doctor, files.obstacle);
	look_at_files(doctor, &files);
	program_files_fini(&files);
}

/* The answer. */

static const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = {
		[DOCTOR_OK] = "ok",
		[DOCTOR_LIMITED] = "limited",
		[DOCTOR_NO] = "no",
		[DOCTOR_ABSENT] = "no",
	};
	return names[status];
}

static enum terminal_style style_of(enum doctor_status status)
{
	static const enum terminal_style styles[] = {
		[DOCTOR_OK] = STYLE_GOOD,
		[DOCTOR_LIMITED] = STYLE_WARN,
		[DOCTOR_NO] = STYLE_BAD,
		[DOCTOR_ABSENT] = STYLE_DIM,
	};
	return styles[status];
}

enum { STATUS_COLUMNS = 11, INDENT = 26 };

static void print_entry(const struct terminal *terminal, enum doctor_status status,
	const char *name, const char *finding, const char *advice)
{
	size_t width = terminal->width ? terminal->width : 100;
	SCOPED char *safe = text_safe(finding), *safe_name = text_safe(name);
	printf("  %s%-*s%s%s", terminal_style_begin(terminal, style_of(status)), STATUS_COLUMNS - 2,
		doctor_status_name(status), terminal_style_end(terminal, style_of(status)),
		safe_name);
	text_flow(stdout, width, INDENT, STATUS_COLUMNS + text_width(safe_name), safe);
	if (advice && status != DOCTOR_OK) {
		printf("%*s", INDENT, "");
		fputs(terminal->utf8 ? "\xe2\x86\x92" : ">", stdout);
		text_flow(stdout, width, INDENT + 2, INDENT + 1, advice);
	}
}

static void print_text(const struct doctor *doctor)
{
	struct terminal terminal;
	terminal_init(&terminal, stdout);
	const char *group = "";
	for (size_t i = 0; i < doctor->checks.count; i++) {
		const struct doctor_check *check = &doctor->checks.items[i];
		if (strcmp(group, check->group)) {
			if (i)
				putchar('\n');
			terminal_print(&terminal, STYLE_STRONG, check->group);
			putchar('\n');
		}
		group = check->group;
		print_entry(&terminal, check->status, check->name, check->finding, check->advice);
	}
	for (size_t i = 0; i < doctor->engines.count; i++) {
		const struct doctor_engine *engine = &doctor->engines.items[i];
		print_entry(&terminal, engine->status, "engine", engine->path, NULL);
		size_t width = terminal.width ? terminal.width : 100;
		SCOPED char *files = text_safe(engine->files), *method = text_safe(engine->method);
		text_wrap(stdout, width, INDENT, "", method);
		text_wrap(stdout, width, INDENT, "", files);
		for (size_t k = 0; k < engine->hook_count; k++) {
			const struct doctor_hook *hook = &engine->hooks[k];
			bool works = hook->defined && hook->reached;
			enum doctor_status status = works ? DOCTOR_OK : DOCTOR_ABSENT;
			SCOPED char *text = xasprintf("%s (%s)%s", hook->symbol, hook->gives,
				works ? ""
				: hook->defined
					? ": exported, but not called through the dynamic linker"
					: ": not exported");
			printf("%*s%s%-3s%s", INDENT, "",
				terminal_style_begin(&terminal, style_of(status)),
				works ? "ok" : "no",
				terminal_style_end(&terminal, style_of(status)));
			text_flow(stdout, width, INDENT + 4, INDENT + 3, text);
		}
	}
	if (doctor->is_of_program)
		return;
	printf("\n%s\n", doctor->cannot_record
				 ? "Nothing can be recorded on this machine; see above."
				 : "Programs can be recorded on this machine.");
}

static json_t *engine_json(const struct doctor_engine *engine)
{
	json_t *object = json_object(), *hooks = json_array();
	for (size_t i = 0; i < engine->hook_count; i++) {
		json_t *hook = json_object();
		json_put(hook, "symbol", json_text(engine->hooks[i].symbol));
		json_put(hook, "gives", json_text(engine->hooks[i].gives));
		json_put(hook, "exported", json_boolean(engine->hooks[i].defined));
		json_put(hook, "reached", json_boolean(engine->hooks[i].reached));
		json_add(hooks, hook);
	}
	json_put_texts(object, engine, path, files);
	json_put(object, "status", json_text(doctor_status_name(engine->status)));
	json_put(object, "method", json_text(engine->method));
	json_put(object, "hooks", hooks);
	return object;
}

static void cmd_doctor_print_json(const struct doctor *doctor)
{
	json_t *root = json_object(), *checks = json_array(), *engines = json_array();
	for (size_t i = 0; i < doctor->checks.count; i++) {
		const struct doctor_check *check = &doctor->checks.items[i];
		json_t *object = json_object();
		json_put_texts(object, check, group, name);
		json_put(object, "status", json_text(doctor_status_name(check->status)));
		json_put(object, "finding", json_text(check->finding));
		json_put(object, "advice",
			json_text(check->status == DOCTOR_OK ? NULL : check->advice));
		if (check->attaches) {
			json_put(object, "attaches", json_text(check->attaches));
			json_put(object, "certain", json_boolean(check->is_certain));
		}
		json_add(checks, object);
	}
	for (size_t i = 0; i < doctor->engines.count; i++)
		json_add(engines, engine_json(&doctor->engines.items[i]));
	json_put(root, "schema", json_text("brick/doctor/1"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "can_record", json_boolean(!doctor->cannot_record));
	json_put(root, "checks", checks);
	json_put(root, "engines", engines);
	json_print(root, stdout);
}

struct options {
	const char **engines; /* ends with NULL */
	bool json;
};

static void add_engine(const struct option_use *use, const char *text)
{
	const char **engine = *(const char ***)use->to;
	while (*engine)
		engine++;
	*engine = text;
}

static const struct cli_option cmd_doctor_option_table[] = {
	{"engine", "PATH",
		"also look at ggml libraries in this directory, or at this file; may be given more "
		"than once",
		add_engine, AT(engines)},
	{"json", NULL, "as JSON (schema brick/doctor/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static void look_at_machine(struct doctor *doctor, const struct options *options)
{
	doctor_clock(doctor);
	doctor_machine(doctor);
	doctor_attach(doctor);
	doctor_devices(doctor);
	doctor_surroundings(doctor);
	doctor_ggml(doctor, options->engines);
}

static int run_doctor(int argc, char **argv)
{
	struct options options = {.engines = xcalloc((size_t)argc + 1, sizeof(char *))};
	options_parse(&command_doctor, &options, argc, argv);
	struct doctor doctor = {.is_of_program = optind < argc};
	if (optind < argc) {
		char *end;
		long pid = strtol(argv[optind], &end, 10);
		if (optind > 1 && !strcmp(argv[optind - 1], "--"))
			doctor_command(&doctor, argv + optind);
		else if (!*end && pid > 0 && optind + 1 == argc)
			doctor_process(&doctor, pid);
		else
			die_usage("doctor",
				"%s: neither a process's number nor a command behind '--'; did you "
				"mean '--engine %s'?",
				argv[optind], argv[optind]);
	} else
		look_at_machine(&doctor, &options);
	if (options.json)
		cmd_doctor_print_json(&doctor);
	else
		print_text(&doctor);
	int code = doctor.cannot_record ? CLI_SYSTEM : CLI_DONE;
	for (size_t i = 0; i < doctor.checks.count; i++) {
		free(doctor.checks.items[i].finding);
		free(doctor.checks.items[i].advice);
	}
	for (size_t i = 0; i < doctor.engines.count; i++) {
		free(doctor.engines.items[i].path);
		free(doctor.engines.items[i].files);
		free(doctor.engines.items[i].method);
	}
	array_fini(&doctor.checks);
	array_fini(&doctor.engines);
	free(options.engines);
	return code;
}

const struct cli_command command_doctor = {
	.name = "doctor",
	.summary = "say what will work on this machine, and what will not",
	.run = run_doctor,
	.flags = CLI_ANSWERS,
	.usage = "[OPTIONS] [PID | -- CMD...]",
	.about = "Say what will work on this machine, what will not, why, and what to do about it; "
		 "or say how Brick can attach to a program, without running it.",
	.notes = "Without --engine, ggml is looked for in LD_LIBRARY_PATH, the usual library "
		 "directories, ./node_modules and ./build/demo/engine. Exit code 4: nothing can be "
		 "recorded here, or nothing of that program.",
	.options = cmd_doctor_option_table,
};
