/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into PyTorch. A program is linked with it, or opens it: Python does. It is
 * looked at once, when it has been loaded and before its caller can use it.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "attach/rules/named_sites.h"
#include "attach/torch/torch_library.h"
#include "attach/torch/torch_observers.h"
#include "attach/torch/torch_serve.h"
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

static void torch_loader_look_at(const char *path)
{
	char version[64], why[240];

	torch_library_version(path, version, sizeof(version));
	int error = torch_observers_register(why, sizeof(why));
	if (!brick_thread_ready()) {
		note_once("torch.version", "%s", *version ? version : "unknown");
		note_once("torch.library", "%s", path);
	}
	if (!error) {
		note_once("attach", "operators of PyTorch");
		note_once("torch.rules", "%s", named_sites_rules());
		torch_observed_set();
		torch_hooks_watch(torch_serve_hooks);
	} else {
		note_once("torch.refused", "PyTorch %s is not recorded: %s",
			*version ? version : "of an unknown version", why);
	}
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
	if (handle)
		torch_loader_look_at(path);
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

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes,
		"operators of PyTorch are recorded by its observers, if these pass a test when it "
		"is "
		"loaded; modules of Python by name");
	return 0;
}
