/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into PyTorch. A program is linked with it, or opens it: Python does. It is
 * looked at once, when it has been loaded and before its caller can use it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "attach/common/entry.h"
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_compile.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_memory.h"
#include "attach/torch/torch_modules.h"
#include "attach/torch/torch_observers.h"
#include "attach/torch/torch_serve.h"
#include "attach/torch/torch_slots.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"
#include "lib/sys/interpose.h"

/* Hidden: the address of dlopen() itself, for SYS_INTERPOSE. */
void *torch_next_dlopen __attribute__((visibility("hidden")));

static void *open_by_next(const char *path, int flags)
{
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))sys_function_next(&torch_next_dlopen, "dlopen");

	return open(path, flags);
}

static int torch_loader_find_library(struct dl_phdr_info *info, size_t bytes, void *path)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)bytes;
	if (strncmp(slash ? slash + 1 : info->dlpi_name, "libtorch_cpu.so", 15) != 0)
		return 0;
	snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* error: of torch_observers_prove(). */
static void torch_loader_tell(const char *path, int error, const char *why)
{
	char version[64];

	torch_library_version(path, version, sizeof(version));
	if (!brick_thread_ready()) {
		note_once("torch.version", "%s", *version ? version : "unknown");
		note_once("torch.library", "%s", path);
	}
	if (!error) {
		note_once("attach", "operators of PyTorch");
		note_once("torch.rules", "%s", named_sites_rules());
		if (python_without_gil())
			note_once("torch.modules",
				"not seen, nor steps: Python %s is a free-threaded build, of which "
				"Brick records operators only",
				python_without_gil());
	} else {
		note_once("torch.refused", "PyTorch %s is not recorded: %s",
			*version ? version : "of an unknown version", why);
	}
}

static int torch_loader_look_at(const char *path, char *why, size_t bytes)
{
	int error = torch_observers_prove(why, bytes);

	if (!error)
		torch_observers_start();
	torch_loader_tell(path, error, why);
	if (!error)
		torch_observed_set(true);
	return error;
}

/* Looks for a PyTorch that was loaded since the last call. */
static void torch_loader_look(void)
{
	static unsigned long long loads_seen;
	static int looking;
	unsigned long long loads = object_changes().loads;
	char path[PATH_MAX];
	KEEP_ERRNO();

	if (loads == __atomic_exchange_n(&loads_seen, loads, __ATOMIC_RELAXED) ||
		torch_library_known() || !dl_iterate_phdr(torch_loader_find_library, path) ||
		__atomic_exchange_n(&looking, 1, __ATOMIC_RELAXED))
		return;
	void *handle = open_by_next(path, RTLD_LAZY | RTLD_NOLOAD); /* it stays */
	torch_library_set(handle);
	char why[240];
	if (handle && !torch_loader_look_at(path, why, sizeof(why)))
		torch_hooks_watch(torch_serve_hooks);
}

static bool torch_loader_is_recorded(void)
{
	const char *directory = brick__environment("BRICK_SESSION_DIR");

	return directory && *directory;
}

/* All that the program was linked with is in place, and none of its code has run. */
__attribute__((constructor)) static void torch_loader_look_first(void)
{
	if (torch_loader_is_recorded())
		torch_loader_look();
}

/*
 * A bare name is left to the dynamic linker, which would search along our paths in place of the
 * caller's. Within another dlopen() a library is new whose constructors run.
 */
void *torch_dlopen_choose(const char *path, int flags);
__attribute__((visibility("hidden"))) void *torch_dlopen_choose(const char *path, int flags)
{
	static __thread uint32_t opening __attribute__((tls_model("initial-exec")));

	sys_function_next(&torch_next_dlopen, "dlopen");
	if (!path || !strchr(path, '/') || strchr(path, '$') || (flags & RTLD_NOLOAD) || opening ||
		torch_observed() || !torch_loader_is_recorded())
		return NULL;
	opening++;
	void *handle = open_by_next(path, flags);
	opening--;
	if (handle)
		torch_loader_look();
	return handle;
}

SYS_INTERPOSE(dlopen, torch_dlopen_choose, torch_next_dlopen);

/*
 * Functions of libtorch that this library stands in front of, where it is preloaded. control: of a
 * recorder that is to do it; NULL: we do. Returns how many slots were filled, or an error.
 */
static int torch_loader_fill_slots(struct brick_enter_control *control)
{
	static const char *const names[] = {
		"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6"
		"TensorESaIS9_EEbbbS7_",
		"_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE",
		"_ZN4c10d7Reducer17finalize_backwardEv",
		"_ZN3c109alloc_cpuEm",
		"_ZN3c108free_cpuEPv",
		"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
	};
	enum { COUNT = sizeof(names) / sizeof(*names) };
	struct torch_slot slots[COUNT];
	Dl_info ours;
	void *self = dladdr((const void *)torch_loader_fill_slots, &ours)
			     ? open_by_next(ours.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			     : NULL;

	for (size_t i = 0; i < COUNT && self; i++)
		slots[i] = (struct torch_slot){names[i], dlsym(self, names[i])};
	if (!self)
		return -ENOENT;
	if (!control)
		return torch_slots_fill(slots, COUNT);
	torch_slots_list(slots, COUNT, control);
	return 0;
}

static bool torch_loader_open(const char *path)
{
	if (!torch_library_known())
		torch_library_set(open_by_next(path, RTLD_LAZY | RTLD_NOLOAD));
	return torch_library_known();
}

/*
 * For a program that loads this library itself, behind PyTorch: libtorch's calls pass by us from
 * now on. No other thread may run operators meanwhile. 0; negative: `why` tells it. May be called
 * again, for a later session's notes.
 */
BRICK_API int brick_torch_attach(char *why, size_t bytes);

BRICK_API int brick_torch_attach(char *why, size_t bytes)
{
	char path[PATH_MAX];
	int error = 0;

	if (!dl_iterate_phdr(torch_loader_find_library, path)) {
		snprintf(why, bytes, "PyTorch is not loaded: import torch first");
		return -ENOENT;
	}
	if (torch_observed()) {
		torch_loader_tell(path, 0, "");
		return 0;
	}
	if (!torch_loader_open(path)) {
		snprintf(why, bytes, "%s: it cannot be opened again", path);
		return -ENOENT;
	}
	error = torch_loader_look_at(path, why, bytes);
	if (!error && torch_loader_fill_slots(NULL) < 0)
		note_once("torch.partly",
			"backward passes and memory are not seen: pages of PyTorch "
			"cannot be changed");
	return error;
}

/*
 * ---- a process that runs already ----
 * PyTorch registers observers of its own while operators run, for recordings on demand: since 1.13
 * a list of them is read under a lock. What belongs to Python is changed with the GIL held, by a
 * thread of ours that is none of Python's, which the interpreter lets wait for it.
 */

static char torch_entered_path[PATH_MAX];

static const char *torch_enter_prepare(struct brick_enter_control *control)
{
	static char why[240];
	void *active;

	if (torch_observed())
		return "it records itself";
	if (!dl_iterate_phdr(torch_loader_find_library, torch_entered_path) ||
		!torch_loader_open(torch_entered_path))
		return "its PyTorch is not there any more";
	torch_library_symbol("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE", &active);
	if (!active)
		return "its PyTorch is older than 1.13, and takes observers at its start only; "
		       "start it by brick record -- CMD";
	if (torch_observers_prove(why, sizeof(why)))
		return why;
	torch_loader_fill_slots(control);
	return NULL;
}

/* A call that Python makes for us, once. The GIL guards all but the number and `is_due`. */
static struct {
	void (*act)(void);
	uintptr_t number; /* of a pending call, which may come when it is done, and we have left */
	bool is_due;
} torch_enter_call;

static int torch_enter_called(void *number)
{
	if ((uintptr_t)number != __atomic_load_n(&torch_enter_call.number, __ATOMIC_ACQUIRE) ||
		!__atomic_load_n(&torch_enter_call.is_due, __ATOMIC_ACQUIRE))
		return 0;
	torch_enter_call.act();
	py.Err_Clear();
	__atomic_store_n(&torch_enter_call.is_due, false, __ATOMIC_RELEASE);
	return 0;
}

static bool torch_enter_is_due(void)
{
	return __atomic_load_n(&torch_enter_call.is_due, __ATOMIC_ACQUIRE);
}

/*
 * Python's main thread does it between two instructions, if it runs Python. Else we do: operators
 * give the GIL back so often that a thread may wait for it for seconds on a busy machine. False:
 * there is no Python, or it is about to end.
 */
static bool torch_enter_python(void (*act)(void))
{
	enum { MAIN_THREAD_MS = 1000 };
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!python_find() || !py._IsInitialized())
		return false;
	void *number = (void *)(torch_enter_call.number + 1);
	torch_enter_call.act = act;
	__atomic_store_n(&torch_enter_call.number, (uintptr_t)number, __ATOMIC_RELEASE);
	__atomic_store_n(&torch_enter_call.is_due, true, __ATOMIC_RELEASE);
	const uint64_t until_ns = monotonic_ns() + MAIN_THREAD_MS * UINT64_C(1000000);
	if (!py._AddPendingCall(torch_enter_called, number))
		while (torch_enter_is_due() && monotonic_ns() < until_ns)
			nanosleep(&pause, NULL);
	if (torch_enter_is_due()) {
		int state = py.GILState_Ensure();
		torch_enter_called(number);
		py.GILState_Release(state);
	}
	return true;
}

static void torch_enter_observe(void)
{
	torch_observed_set(true);
	torch_observers_start();
}

static void torch_enter_ignore(void)
{
	torch_observed_set(false);
	torch_observers_stop();
}

/* At one moment of Python's threads: no operator is seen outside of its modules. */
static void torch_enter_hook(void)
{
	torch_modules_place();
	torch_compile_look();
	torch_hooks_set_all(torch_serve_hooks);
	torch_enter_observe();
}

static uint64_t torch_enter_patient_ns; /* until then no open brick is cut */
static bool torch_enter_has_left;

/*
 * So that nothing that Python was asked for hooks it again. A call may have begun its step after we
 * saw that no brick was open: from its own look if we leave until then it has the GIL.
 */
static void torch_enter_unhook(void)
{
	if (entry_open() && monotonic_ns() < torch_enter_patient_ns)
		return;
	torch_enter_has_left = true;
	torch_enter_ignore();
	torch_hooks_take_away();
	torch_modules_take_away();
}

static void torch_enter_begin(void)
{
	torch_loader_tell(torch_entered_path, 0, "");
	if (!torch_enter_python(torch_enter_hook))
		torch_enter_observe();
}

/*
 * First no outermost call begins, and those in flight end, with all that is in them. What takes too
 * long loses what begins from then on, and in the end counts as unmatched.
 */
static void torch_enter_leave(void)
{
	if (!torch_observed())
		return;
	__atomic_store_n(&torch_thread_leaving, __atomic_load_n(&brick__on, __ATOMIC_RELAXED),
		__ATOMIC_SEQ_CST);
	torch_enter_patient_ns = monotonic_ns() + BRICK_ENTER_PATIENCE_MS * UINT64_C(1000000);
	torch_enter_has_left = false;
	do {
		entry_wait_for_ends();
		if (!torch_enter_python(torch_enter_unhook)) {
			torch_enter_ignore();
			break;
		}
	} while (!torch_enter_has_left);
	/* from now on bricks only end */
	__atomic_store_n(&torch_thread_ending, __atomic_load_n(&brick__on, __ATOMIC_RELAXED),
		__ATOMIC_SEQ_CST);
	brick_pause();
	entry_wait_for_ends();
	__atomic_store_n(&torch_thread_ending, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&torch_thread_leaving, 0, __ATOMIC_SEQ_CST);
}

static const struct entry_engine torch_entry = {
	torch_enter_prepare, torch_enter_begin, torch_enter_leave, torch_memory_forget};

BRICK_API void brick_enter(const char *directory);

BRICK_API void brick_enter(const char *directory)
{
	entry_serve(directory, &torch_entry);
}

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes,
		"operators of PyTorch are recorded by its observers, if these pass a test when it "
		"is "
		"loaded; modules of Python by name");
	return 0;
}
