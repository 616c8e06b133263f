/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examining a process (target.h). All that can be known beforehand is looked at before anything is
 * changed. A process in another world (files, process numbers, rights) is refused, because the
 * library would not be found there, or would find other files.
 */
#include "record/enter/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/file.h"
#include "base/file_mentions.h"
#include "base/scope.h"
#include "brick/error.h"
#include "record/enter/function_table.h"
#include "record/enter/refusal.h"
#include "record/inject/inject.h"

/* /proc. */

enum { PROC_PATH_BYTES = PATH_MAX + 32 };

static const char *target_path(char out[PROC_PATH_BYTES], pid_t pid, const char *name)
{
	snprintf(out, PROC_PATH_BYTES, "/proc/%d/%s", (int)pid, name);
	return out;
}

static const char *target_status(pid_t pid, const char *key, char *out, size_t bytes)
{
	char path[PROC_PATH_BYTES];

	*out = '\0';
	file_field(target_path(path, pid, "status"), key, out, bytes);
	return out + strspn(out, " \t");
}

static long status_number(pid_t pid, const char *key)
{
	char text[128];

	return strtol(target_status(pid, key, text, sizeof(text)), NULL, 10);
}

static bool is_same_namespace(pid_t pid, const char *kind)
{
	char path[PROC_PATH_BYTES], name[64], own[PATH_MAX];
	struct stat ours, theirs;

	snprintf(name, sizeof(name), "ns/%s", kind);
	snprintf(own, sizeof(own), "/proc/self/%s", name);
	return stat(own, &ours) || stat(target_path(path, pid, name), &theirs) ||
	       ours.st_ino == theirs.st_ino;
}

/* Does the process see the file of this path that we see? */
static bool sees_file(pid_t pid, const char *file)
{
	char path[PROC_PATH_BYTES], name[PATH_MAX];
	struct stat ours, theirs;

	return snprintf(name, sizeof(name), "root%s", file) < (int)sizeof(name) &&
	       !stat(file, &ours) && !stat(target_path(path, pid, name), &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static bool has_variable(pid_t pid, const char *name, const char *part)
{
	char path[PROC_PATH_BYTES];
	SCOPED char *text = NULL;
	size_t bytes, length = strlen(name);
	bool found = false;

	if (file_read(&text, &bytes, target_path(path, pid, "environ"), 4 << 20))
		return false;
	for (const char *v = text; v < text + bytes && !found; v += strlen(v) + 1)
		found = !strncmp(v, name, length) && v[length] == '=' && strstr(v, part);
	return found;
}

/* Why ptrace(2) is forbidden. */

static int yama_scope(void)
{
	char text[16];

	return file_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) ? atoi(text) : 0;
}

int target_refusal(pid_t pid, int error, char why[REFUSAL_BYTES])
{
	int scope = yama_scope();
	long tracer = status_number(pid, "TracerPid");

	if (error == -ESRCH || error == -ENOENT)
		return refusal(why, error, "there is no such process");
	if (error == -ETIMEDOUT)
		return refusal(why, error,
			"one of its threads does not stop: it waits in the kernel, or gets no CPU; "
			"try again");
	if (error == -EBUSY)
		return refusal(why, error,
			"it is stopped by a signal; let it go on (kill -CONT %d) and try again",
			(int)pid);
	if (error != -EPERM && error != -EACCES)
		return refusal(why, error, "it cannot be traced: %s", strerror(-error));
	if (tracer)
		return refusal(why, error,
			"process %ld traces it (a debugger, or strace), and there can be one "
			"tracer only; end that one",
			tracer);
	if (scope == 3)
		return refusal(why, error,
			"this system forbids to trace processes until it is started anew "
			"(kernel.yama.ptrace_scope is 3); start the program by brick record -- "
			"CMD");
	if (scope && geteuid())
		return refusal(why, error,
			"this system lets a process be traced by %s (kernel.yama.ptrace_scope is "
			"%d); %sstart the program by brick record -- CMD",
			scope == 1 ? "its parents only" : "root only", scope,
			scope == 1 ? "sysctl kernel.yama.ptrace_scope=0 allows it, or " : "");
	return refusal(why, error,
		"the kernel does not allow to trace it: it has more rights than you, or this "
		"container may not trace (docker run --cap-add SYS_PTRACE); start the program by "
		"brick record -- CMD");
}

/* What it is. */

/* NULL, or the beginning of the names of libraries of another world. */
static const struct target_engine {
	const char *library, *title;
} target_engines[] = {
	{"libtorch", "PyTorch"},
	{"libonnxruntime", "ONNX Runtime"},
	{"libcudart", "CUDA"},
	{"libOpenCL", "OpenCL"},
	{"libvulkan", "Vulkan"},
	{"libnvToolsExt", "NVTX"},
};

static const char *target_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct tracee_mapping *find_library(const struct target *t, const char *beginning)
{
	for (size_t i = 0; i < t->mappings.of.count; i++)
		if (!strncmp(target_name(t->mappings.of.items[i].path), beginning,
			    strlen(beginning)))
			return &t->mappings.of.items[i];
	return NULL;
}

/* access(2) looks at the mode only, and the kernel refuses memory of processes with more rights. */
static bool target_may_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int examine_rights(pid_t pid, char why[REFUSAL_BYTES])
{
	char path[PROC_PATH_BYTES], text[256];
	long group = status_number(pid, "Tgid"), tracer = status_number(pid, "TracerPid");
	long parent = status_number(pid, "PPid"), user = -1;

	if (!group)
		return refusal(why, -ESRCH, "there is no such process");
	if (group != pid)
		return refusal(
			why, -EINVAL, "it is a thread of process %ld: say -p %ld", group, group);
	if (pid == getpid())
		return refusal(why, -EINVAL, "it is this command itself");
	switch (*target_status(pid, "State", text, sizeof(text))) {
	case 'Z':
		if (status_number(pid, "Threads") > 1)
			return refusal(why, -ENOTSUP,
				"its first thread has ended, and the kernel shows no memory of it "
				"any more; start it by brick record -- CMD");
		return refusal(why, -ESRCH, "it has ended");
	case 'X':
		return refusal(why, -ESRCH, "it has ended");
	case 'T':
		return target_refusal(pid, -EBUSY, why);
	}
	if (tracer)
		return target_refusal(pid, -EPERM, why);
	if (parent > 0 && !syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0))
		return refusal(why, -EAGAIN,
			"it shares its memory with process %ld, which has started it (vfork); try "
			"again when it has begun its program",
			parent);
	target_status(pid, "Uid", text, sizeof(text));
	if (sscanf(text, "%*d %ld", &user) == 1 && user != (long)geteuid())
		return refusal(why, -EPERM,
			"it runs as user %ld and this command as user %ld, whose files it may not "
			"read; run this as that user",
			user, (long)geteuid());
	file_link(target_path(path, pid, "exe"), text, sizeof(text));
	if (!*text)
		return target_may_read(target_path(path, pid, "maps"))
			       ? refusal(why, -EINVAL, "it is a thread of the kernel")
			       : target_refusal(pid, -EPERM, why);
	return 0;
}

static int sees_not(char why[REFUSAL_BYTES], const char *file)
{
	return refusal(why, -EXDEV,
		"it runs among other files (a container, or chroot), and does not see %s; run this "
		"in there",
		file);
}

static int examine_world(struct target *t, char why[REFUSAL_BYTES])
{
	char exe[PROC_PATH_BYTES];
	enum inject_obstacle obstacle = inject_examine(target_path(exe, t->pid, "exe"));

	if (obstacle != INJECT_FINE) {
		const char *advice = inject_obstacle_advice(obstacle);
		return refusal(why, -ENOEXEC, "%s%s%s", inject_obstacle_text(obstacle),
			advice ? "; " : "", advice ? advice : "");
	}
	if (status_number(t->pid, "Seccomp"))
		return refusal(why, -EPERM,
			"its system calls are filtered (seccomp), and the kernel may end it at a "
			"call of ours; start it by brick record -- CMD");
	if (!is_same_namespace(t->pid, "pid") || !is_same_namespace(t->pid, "user"))
		return refusal(why, -EXDEV,
			"it runs in a container (other numbers of processes or users); run this in "
			"there");
	if (!sees_file(t->pid, "/dev/shm"))
		return sees_not(why, "/dev/shm");
	int error = tracee_mappings_read(&t->mappings, t->pid);
	if (error)
		return target_refusal(t->pid, error, why);
	if (find_library(t, "libasan.so") || find_library(t, "libtsan.so") ||
		find_library(t, "libclang_rt."))
		return refusal(why, -ENOTSUP,
			"it runs under a sanitizer, whose locks a new thread could hold up; start "
			"it by brick record -- CMD");
	if (!find_library(t, "libc.so.6"))
		return refusal(why, -ELIBBAD, "%s", inject_obstacle_text(INJECT_OTHER_LIBC));
	return 0;
}

/*
 * Functions that every user of an engine calls; none takes vectors. One group each: they are
 * independent of each other.
 */
#define PLANT(number, function)                                        \
	{                                                              \
		.name = (function), .group = (number), .is_sign = true \
	}

static const struct patch_name ggml_functions[] = {
	PLANT(1, "ggml_graph_compute"),
	PLANT(2, "ggml_backend_sched_graph_compute_async"),
	PLANT(3, "ggml_backend_graph_compute_async"),
};

/* Of libc10, which is small: the end of a tensor, memory for one, and an operator's guard. */
static const struct patch_name torch_functions[] = {
	PLANT(1, "_ZN3c1010TensorImpl17release_resourcesEv"),
	PLANT(2, "_ZN3c109alloc_cpuEm"),
	PLANT(3, "_ZN3c104impl23ExcludeDispatchKeyGuardC1ENS_14DispatchKeySetE"),
};

/*
 * A thread of Python's calls the first two to give the interpreter's lock away, or to take it. Any
 * other Python may run there, so no caller relies on what a thread of ours could change. Linkers
 * put them into their callers where libpython is a part of the program (LTO): then a wait that a
 * signal has ended calls one of the next three, and all that Python does the last one.
 */
static const struct patch_name python_functions[] = {
	PLANT(1, "PyEval_SaveThread"),
	PLANT(2, "PyEval_RestoreThread"),
	PLANT(3, "PyErr_CheckSignals"),
	PLANT(4, "Py_MakePendingCalls"),
	PLANT(5, "_PyEval_MakePendingCalls"),
	PLANT(6, "_Py_Dealloc"),
};

/* Engines that can be entered; the first one found is, by the functions of all of its rows. */
static const struct entered_engine {
	const char *attacher;
	const char *needs;   /* the beginning of a library's name; NULL: none */
	const char *file;    /* the beginning of the file's name; NULL: any file ... */
	const char *mention; /* ... that has this text */
	const struct patch_name *functions; /* NULL: it has a table (function_table.h) */
	size_t count;
} entered_engines[] = {
	{"ggml", NULL, NULL, "ggml", ggml_functions,
		sizeof(ggml_functions) / sizeof(*ggml_functions)},
	/* first, so that jumps reach it: it is also called where no operator runs */
	{"torch", "libtorch_cpu.so", "libpython3.", "PyEval_SaveThread", python_functions,
		sizeof(python_functions) / sizeof(*python_functions)},
	{"torch", "libtorch_cpu.so", "python", "PyEval_SaveThread", python_functions,
		sizeof(python_functions) / sizeof(*python_functions)},
	{"torch", NULL, "libc10.so", "release_resources", torch_functions,
		sizeof(torch_functions) / sizeof(*torch_functions)},
	{"onnxruntime", NULL, "libonnxruntime.so", "OrtGetApiBase", NULL, 0},
};

enum { ENTERED_ENGINES = sizeof(entered_engines) / sizeof(*entered_engines) };

static const struct attacher *attacher_named(const char *name)
{
	const struct attacher *const *a = attachers;

	while (*a && strcmp((*a)->name, name) != 0)
		a++;
	return *a;
}

/* A file of a living session's directory (session_dir.c). */
static bool is_of_session(const char *path)
{
	static const char base[] = "/dev/shm/", name[] = "brick-";

	return !strncmp(path, base, sizeof(base) - 1) &&
	       !strncmp(path + sizeof(base) - 1, name, sizeof(name) - 1) &&
	       !strstr(path, " (deleted)");
}

int target_examine_recorded(pid_t pid, const struct tracee_mappings *mappings,
	target_is_left_fn is_left, char why[REFUSAL_BYTES])
{
	char directory[PATH_MAX];

	for (size_t i = 0; i < mappings->of.count; i++) {
		const char *path = mappings->of.items[i].path;
		if (!is_of_session(path))
			continue;
		snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(path, '/') - path),
			path);
		return is_left(directory)
			       ? refusal(why, -EOWNERDEAD,
					 "its recorder is gone; with --always recording goes on")
			       : refusal(why, -EALREADY,
					 "it is being recorded; brick top %d looks at it",
					 (int)pid);
	}
	return 0;
}

/* Is Brick in it? An attacher's library stays after a former entry. */
static int examine_former(
	const struct target *t, target_is_left_fn is_left, char why[REFUSAL_BYTES])
{
	bool was_entered = false;
	int error = target_examine_recorded(t->pid, &t->mappings, is_left, why);

	if (error)
		return error;
	for (int i = 0; i < ENTERED_ENGINES; i++)
		was_entered |=
			find_library(t, attacher_named(entered_engines[i].attacher)->library) !=
			NULL;
	for (size_t i = 0; i < t->mappings.of.count; i++) {
		const char *name = target_name(t->mappings.of.items[i].path);
		bool is_ours = !strncmp(name, "libbrick.so", 11);
		if (is_ours && (!was_entered || has_variable(t->pid, "LD_PRELOAD", "libbrick-")))
			return was_entered
				       ? refusal(why, -EALREADY,
						 "it was started by brick record, whose recorder "
						 "is gone; restart it to record it again")
				       : refusal(why, -EALREADY,
						 "it has libbrick inside, and records itself; "
						 "brick top %d looks at it",
						 (int)t->pid);
	}
	return 0;
}

/* The library that is to be loaded: another Brick's may be there. */
static int examine_library(struct target *t, char why[REFUSAL_BYTES])
{
	char library[PATH_MAX] = "";
	const struct tracee_mapping *former = find_library(t, t->attacher->library);

	if (inject_library(t->attacher, library, sizeof(library)) != INJECT_FINE ||
		strlen(library) >= sizeof(t->library))
		return refusal(why, -ENOENT, "%s",
			inject_obstacle_text(*library ? INJECT_BAD_PATH : INJECT_NO_LIBRARY));
	snprintf(t->library, sizeof(t->library), "%s", library);
	if (!sees_file(t->pid, t->library))
		return sees_not(why, t->library);
	if (former && strcmp(former->path, t->library) != 0)
		return refusal(why, -ELIBBAD,
			"a former recorder left %s in it, and this one would need %s; restart it, "
			"or use that Brick",
			former->path, t->library);
	return 0;
}

/* The engine. */

/* Address in memory less address in the file of what is mapped here; false: it cannot be told. */
static bool target_bias(const char *path, const struct tracee_mapping *m, uint64_t *bias)
{
	enum { PAGE = 4096 };
	Elf64_Ehdr elf;
	Elf64_Phdr segment;
	bool found = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	if (pread(fd, &elf, sizeof(elf), 0) == (ssize_t)sizeof(elf) &&
		!memcmp(elf.e_ident, ELFMAG, SELFMAG))
		for (unsigned i = 0; i < elf.e_phnum && !found; i++) {
			if (pread(fd, &segment, sizeof(segment),
				    (off_t)(elf.e_phoff + i * sizeof(segment))) !=
				(ssize_t)sizeof(segment))
				break;
			found = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
				(segment.p_offset & ~(uint64_t)(PAGE - 1)) == m->offset;
			if (found)
				*bias = m->low - (segment.p_vaddr & ~(uint64_t)(PAGE - 1));
		}
	close(fd);
	return found;
}

/* ONNX Runtime's functions that run a session; no register holds what they take as vectors. */
static int find_words(struct target *t, const char *path, uint64_t bias, const char **refused)
{
	enum { RUN = 9, RUN_WITH_BINDING = 133, ENTRIES = 255 };
	static const unsigned numbers[] = {RUN, RUN_WITH_BINDING};
	uint64_t table[ENTRIES], at;
	int error = function_table_find(t->pid, path, bias, table, ENTRIES, &at);

	if (error == -ENOENT)
		*refused = "its table of functions is not where it is known to be";
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !error; i++)
		error = array_push(
			&t->words, (struct target_word){at + 8 * numbers[i], table[numbers[i]]});
	return error == -ENOENT ? 0 : error;
}

/* Is it mapped in front of this, too? BOLT gives a program a second segment of code. */
static bool is_known_file(const struct target *t, size_t mapping)
{
	for (size_t i = mapping; i-- > 0;)
		if (t->mappings.of.items[i].is_executable &&
			!strcmp(t->mappings.of.items[i].path, t->mappings.of.items[mapping].path))
			return true;
	return false;
}

/* Survey one mapped file. *refused: the last function that was found and cannot be patched. */
static int survey_file(struct target *t, const struct entered_engine *engine,
	const struct tracee_mapping *m, const char **refused)
{
	char path[PROC_PATH_BYTES], name[PATH_MAX];
	struct survey survey;
	uint64_t bias;

	if (snprintf(name, sizeof(name), "root%s", m->path) >= (int)sizeof(name) ||
		(engine->file &&
			strncmp(target_name(m->path), engine->file, strlen(engine->file)) != 0))
		return 0;
	target_path(path, t->pid, name);
	if (!file_mentions(path, engine->mention) || !target_bias(path, m, &bias))
		return 0;
	if (!engine->functions)
		return find_words(t, path, bias, refused);
	int error = survey_open(&survey, path, engine->functions, engine->count, true);
	if (error)
		return error == -ENOSYS || error == -ENOMEM ? error : 0;
	struct survey *grown = realloc(t->surveys, (t->survey_count + 1) * sizeof(*grown));
	if (!grown) {
		survey_close(&survey);
		return -ENOMEM;
	}
	t->surveys = grown;
	t->surveys[t->survey_count++] = survey;
	for (size_t i = 0; i < engine->count && !error; i++) {
		const struct survey_entry *e = &survey.entries[i];
		/* the image moves with the array: `image` is set once all files are known */
		if (e->way == SURVEY_PATCHED)
			error = array_push(&t->functions,
				(struct target_function){&e->plan,
					(const struct image *)(t->survey_count - 1), bias});
		else if (e->way == SURVEY_REFUSED)
			*refused = e->plan.refused;
	}
	if (engine->functions == python_functions && survey.patched)
		t->interpreter = m->path;
	return error;
}

static int find_engine(struct target *t, char why[REFUSAL_BYTES])
{
	const char *refused = NULL, *title = "";
	int error = 0;

	for (int k = 0; k < ENTERED_ENGINES && !error; k++) {
		const char *former = refused, *needs = entered_engines[k].needs;
		const struct attacher *attacher = attacher_named(entered_engines[k].attacher);
		if (t->functions.count && t->attacher != attacher)
			break;
		if (needs && !find_library(t, needs))
			continue;
		t->attacher = attacher;
		for (size_t i = 0; i < t->mappings.of.count && !error; i++) {
			const struct tracee_mapping *m = &t->mappings.of.items[i];
			if (m->is_executable && m->path[0] == '/' &&
				!strstr(m->path, " (deleted)") && !is_known_file(t, i))
				error = survey_file(t, &entered_engines[k], m, &refused);
		}
		title = refused != former ? t->attacher->title : title;
	}
	for (size_t i = 0; i < t->functions.count; i++) {
		struct target_function *f = &t->functions.items[i];
		f->image = &t->surveys[(uintptr_t)f->image].image;
	}
	if (error == -ENOSYS)
		return refusal(why, error,
			"this Brick was built without Zydis, by which it looks at code "
			"(-DBRICK_PATCH=ON)");
	if (error == -EPERM)
		return target_refusal(t->pid, error, why);
	if (error)
		return refusal(why, error, "%s", brick_strerror(error));
	if (t->functions.count || t->words.count)
		return 0;
	if (refused)
		return refusal(why, -ENOTSUP,
			"its %s cannot be patched: %s; start it by brick record -- CMD", title,
			refused);
	if (find_library(t, "onnxruntime_pybind11_state"))
		return refusal(why, -ENOTSUP,
			"it uses Python's onnxruntime, which Brick does not record; brick import "
			"reads the profile that it writes itself (enable_profiling)");
	for (size_t i = 0; i < sizeof(target_engines) / sizeof(*target_engines); i++)
		if (find_library(t, target_engines[i].library))
			return refusal(why, -ENOTSUP,
				"it uses %s, into which Brick gets at a program's start only; "
				"start it by brick record -- CMD",
				target_engines[i].title);
	return refusal(why, -ENODATA,
		"it has no ggml with symbols in it, no PyTorch and no ONNX Runtime, the engines "
		"into which Brick gets while a program runs; try again when it has loaded its "
		"engine, or see brick doctor -- CMD");
}

int target_examine(struct target *t, pid_t pid, target_is_left_fn is_left, char why[REFUSAL_BYTES])
{
	*t = (struct target){.pid = pid};
	if (!sys_tracing_is_known())
		return refusal(why, -ENOTSUP,
			"on this kind of CPU Brick gets in at a program's start only; start it by "
			"brick record -- CMD");
	int error = examine_rights(pid, why);
	if (!error)
		error = examine_world(t, why);
	if (!error)
		error = examine_former(t, is_left, why);
	if (!error)
		error = find_engine(t, why);
	return error ? error : examine_library(t, why);
}

void target_fini(struct target *t)
{
	for (size_t i = 0; i < t->survey_count; i++)
		survey_close(&t->surveys[i]);
	free(t->surveys);
	array_fini(&t->functions);
	array_fini(&t->words);
	tracee_mappings_fini(&t->mappings);
}

/* Symbols of the C library. */

static uint64_t find_symbol(const struct target *t, const char *name)
{
	/* in one library since glibc 2.34 */
	static const char *const libraries[] = {"libc.so.6", "libpthread.so.0", "libdl.so.2"};
	char path[PROC_PATH_BYTES], file[PATH_MAX];
	uint64_t address = 0, bias;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && !address; i++)
		for (size_t k = 0; k < t->mappings.of.count && !address; k++) {
			const struct tracee_mapping *m = &t->mappings.of.items[k];
			struct image image;
			if (!m->is_executable || strcmp(target_name(m->path), libraries[i]) ||
				snprintf(file, sizeof(file), "root%s", m->path) >=
					(int)sizeof(file))
				continue;
			target_path(path, t->pid, file);
			if (!target_bias(path, m, &bias) || image_open(&image, path))
				continue;
			const struct image_function *f = image_find(&image, name, NULL);
			address = f && f->is_exported ? f->address + bias : 0;
			image_close(&image);
		}
	return address;
}

int target_symbols(const struct target *t, struct sys_plant *plant, char why[REFUSAL_BYTES])
{
	const struct {
		const char *name;
		uint64_t *to;
	} symbols[] = {
		{"__errno_location", &plant->errno_location},
		{"pthread_attr_init", &plant->attr_init},
		{"pthread_attr_setstack", &plant->attr_setstack},
		{"pthread_attr_setdetachstate", &plant->attr_setdetachstate},
		{"pthread_attr_destroy", &plant->attr_destroy},
		{"pthread_create", &plant->create},
		{"dlopen", &plant->dlopen},
		{"dlsym", &plant->dlsym},
		{"dlerror", &plant->dlerror},
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		*symbols[i].to = find_symbol(t, symbols[i].name);
		if (!*symbols[i].to)
			return refusal(why, -ENOENT,
				"its C library has no %s that could be called (glibc before "
				"2.34?); "
				"start it by brick record -- CMD",
				symbols[i].name);
	}
	return 0;
}
