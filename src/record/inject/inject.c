/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries are in ../lib, seen from this program's directory (build tree), or, installed, in
 * lib/brick, lib/TRIPLET/brick or lib64/brick. Attachers are independent: a missing library keeps
 * no other attacher out.
 */
#include "record/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/scope.h"
#include "lib/sys/elf.h"
#include "lib/sys/executable.h"

int environment_add(struct environment *env, const char *format, ...)
{
	va_list arguments;
	char *variable;

	if (array_reserve(&env->variables, (size_t)1))
		return -ENOMEM;
	va_start(arguments, format);
	int n = vasprintf(&variable, format, arguments);
	va_end(arguments);
	if (n < 0)
		return -ENOMEM;
	return array_push(&env->variables, variable);
}

void environment_fini(struct environment *env)
{
	for (size_t i = 0; i < env->variables.count; i++)
		free(env->variables.items[i]);
	array_fini(&env->variables);
}

int environment_apply(const struct environment *env)
{
	for (size_t i = 0; i < env->variables.count; i++)
		if (putenv(env->variables.items[i]))
			return -errno;
	return 0;
}

/* The program. */

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int inject_resolve(const char *command, char *path, size_t bytes)
{
	const char *list = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, bytes, "%s", command) < (int)bytes && is_program(path);
	for (const char *at = list ? list : "/bin:/usr/bin"; at;) {
		int length = (int)strcspn(at, ":");
		int n = snprintf(
			path, bytes, "%.*s/%s", length ? length : 1, length ? at : ".", command);
		if (n > 0 && n < (int)bytes && is_program(path))
			return 1;
		at = at[length] ? at + length + 1 : NULL;
	}
	return 0;
}

enum inject_obstacle inject_examine(const char *program)
{
	switch (brick__executable_examine(program)) {
	case BRICK__EXECUTABLE_FINE:
	case BRICK__EXECUTABLE_SANITIZED:
		break;
	case BRICK__EXECUTABLE_STATIC:
		return INJECT_STATIC;
	case BRICK__EXECUTABLE_FOREIGN:
		return INJECT_FOREIGN;
	case BRICK__EXECUTABLE_OTHER_LIBC:
		return INJECT_OTHER_LIBC;
	case BRICK__EXECUTABLE_PRIVILEGED:
		return INJECT_PRIVILEGED;
	}
	return INJECT_FINE;
}

/* Our libraries. */

enum inject_obstacle inject_library(const struct attacher *attacher, char *path, size_t bytes)
{
	static const char multiarch[] = "../lib/" SYS_LIBRARY_TRIPLET "/brick";
	static const char *const places[] = {"../lib", "../lib/brick", multiarch, "../lib64/brick"};
	char own[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];

	file_link("/proc/self/exe", own, sizeof(own));
	char *slash = strrchr(own, '/');
	if (!slash)
		return INJECT_NO_LIBRARY;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/%s", own, places[i],
			attacher->library);
		if (!realpath(candidate, real))
			continue;
		if (strpbrk(real, " :\t\n"))
			return INJECT_BAD_PATH;
		return snprintf(path, bytes, "%s", real) < (int)bytes ? INJECT_FINE
								      : INJECT_BAD_PATH;
	}
	return INJECT_NO_LIBRARY;
}

bool inject_has_driver(const struct attacher *a)
{
	void *driver = a->driver ? dlopen(a->driver, RTLD_LAZY | RTLD_LOCAL) : NULL;

	if (driver)
		dlclose(driver);
	return driver || !a->driver;
}

bool inject_is_ready(const struct attacher *a)
{
	const char *theirs = a->variable && !a->next ? getenv(a->variable) : NULL;
	char library[PATH_MAX];

	return !(theirs && *theirs) && inject_has_driver(a) &&
	       inject_library(a, library, sizeof(library)) == INJECT_FINE;
}

/*
 * ATTACHER_VARIABLE: the driver loads the library. If the user has set the variable, our library
 * loads that one, too (`next`), or stays out.
 */
static int enter_by_variable(struct environment *env, const struct attacher *a, const char *library)
{
	const char *theirs = getenv(a->variable);
	int error = 0;

	if (theirs && *theirs && !a->next)
		return 0;
	if (theirs && *theirs && strcmp(theirs, library))
		error = environment_add(env, "%s=%s", a->next, theirs);
	return error ? error : environment_add(env, "%s=%s", a->variable, library);
}

/*
 * ATTACHER_LAYER: the Vulkan loader loads the library when an application creates an instance. It
 * searches all data directories for manifests. An unset XDG_DATA_DIRS stands for the standard's
 * default (XDG base directories), which must then be listed, too.
 */
static int enter_as_layer(struct environment *env, const char *library)
{
	const char *theirs = getenv("XDG_DATA_DIRS");

	return environment_add(env, "XDG_DATA_DIRS=%s:%.*s/brick",
		theirs && *theirs ? theirs : "/usr/local/share:/usr/share",
		(int)(strrchr(library, '/') - library), library);
}

static int inject_enter(struct environment *env, const struct attacher *a)
{
	char library[PATH_MAX];
	int error;

	if (a->entry == ATTACHER_PRELOAD ||
		inject_library(a, library, sizeof(library)) != INJECT_FINE)
		return 0;
	if (a->entry == ATTACHER_LAYER)
		error = enter_as_layer(env, library);
	else
		error = enter_by_variable(env, a, library);
	return error || !a->switched_on ? error : environment_add(env, "%s", a->switched_on);
}

/* Append a library to the list of our preloads. 0 or -ENOMEM. */
static int add_to_list(char **list, const char *library)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? ":" : "", library) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

/*
 * Make the list of all libraries that can be preloaded. *list NULL: none, and *obstacle says why.
 */
static int list_preloads(struct environment *env, char **list, enum inject_obstacle *obstacle)
{
	char library[PATH_MAX];
	int error = 0;

	for (const struct attacher *const *a = attachers; *a && !error; a++) {
		if ((*a)->entry != ATTACHER_PRELOAD)
			continue;
		enum inject_obstacle here = inject_library(*a, library, sizeof(library));
		if (here == INJECT_FINE) {
			error = add_to_list(list, library);
			if (!error && (*a)->switched_on)
				error = environment_add(env, "%s", (*a)->switched_on);
		} else if (*obstacle != INJECT_BAD_PATH) {
			*obstacle = here;
		}
	}
	if (*list)
		*obstacle = INJECT_FINE;
	return error;
}

/*
 * AddressSanitizer wants to be the first library: switch that check off if the program contains it
 * or the user preloads it, or if the program is static, since it may start others.
 */
static int allow_sanitizer(struct environment *env, const char *program, const char *preloaded)
{
	const char *theirs = getenv("ASAN_OPTIONS");
	enum brick__executable kind = brick__executable_examine(program);

	if (kind != BRICK__EXECUTABLE_SANITIZED && kind != BRICK__EXECUTABLE_STATIC &&
		!(preloaded && strstr(preloaded, "asan")))
		return 0;
	return environment_add(env, "ASAN_OPTIONS=" BRICK__SANITIZED_OPTION "%s%s",
		theirs ? ":" : "", theirs ? theirs : "");
}

/* True if the dynamic linker finds a file behind BRICK__THROUGH_LIB: the C library's own. */
static bool lib_token_leads_on(void)
{
	char path[sizeof(BRICK__THROUGH_LIB) + PATH_MAX];
	Dl_info libc;

	if (!dladdr((void *)(uintptr_t)strlen, &libc) || libc.dli_fname[0] != '/')
		return false;
	snprintf(path, sizeof(path), BRICK__THROUGH_LIB "%s", libc.dli_fname);
	void *found = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (found)
		dlclose(found);
	return found;
}

/*
 * A static program starts its children by itself, with the list as it is. musl would not start with
 * our libraries: it knows no tokens, and takes no notice of files that do not exist.
 */
static int lead_through_lib(char **list)
{
	char *other = NULL, *rest = *list;
	int error = 0;

	if (!lib_token_leads_on())
		return 0;
	for (char *entry; (entry = strsep(&rest, ":")) && !error;) {
		SCOPED char *longer = NULL;
		error = asprintf(&longer, BRICK__THROUGH_LIB "%s", entry) < 0
				? -ENOMEM
				: add_to_list(&other, longer);
	}
	free(*list);
	*list = other;
	return error;
}

static int preload(
	struct environment *env, const char *command, char **list, enum inject_obstacle *obstacle)
{
	const char *theirs = getenv("LD_PRELOAD");
	char program[PATH_MAX] = "";
	int error = list_preloads(env, list, obstacle);

	if (error || !*list)
		return error;
	if (inject_resolve(command, program, sizeof(program)))
		*obstacle = inject_examine(program);
	/* the dynamic linker would only complain on the program's stderr, or not start it */
	if (*obstacle == INJECT_FOREIGN || *obstacle == INJECT_OTHER_LIBC)
		return 0;
	if (*obstacle == INJECT_STATIC)
		error = lead_through_lib(list);
	if (!error)
		error = environment_add(env, "LD_PRELOAD=%s%s%s", *list,
			theirs && *theirs ? ":" : "", theirs ? theirs : "");
	return error ? error : allow_sanitizer(env, program, theirs);
}

int inject_all(struct environment *env, const char *command, enum inject_obstacle *obstacle)
{
	SCOPED char *list = NULL;
	int error = 0;

	*obstacle = INJECT_FINE;
	for (const struct attacher *const *a = attachers; *a && !error; a++)
		error = inject_enter(env, *a);
	if (!error)
		error = preload(env, command, &list, obstacle);
	return error;
}

const char *inject_kinds(char text[INJECT_KINDS_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (const struct attacher *const *a = attachers; *a && used < INJECT_KINDS_BYTES; a++)
		used += (size_t)snprintf(text + used, INJECT_KINDS_BYTES - used, "%s%s",
			a == attachers ? ""
			: a[1]	       ? ", "
				       : " or ",
			(*a)->title);
	return text;
}

const char *inject_obstacle_text(enum inject_obstacle obstacle)
{
	switch (obstacle) {
	case INJECT_FINE:
		break;
	case INJECT_NO_LIBRARY:
		return "no library to preload was found beside this program (in ../lib)";
	case INJECT_BAD_PATH:
		return "the path of our libraries holds a space or colon, or is too long";
	case INJECT_STATIC:
		return "the program is linked statically, the C library inside, so that nothing "
		       "can be preloaded";
	case INJECT_FOREIGN:
		return "the program is not a 64-bit program of this kind of CPU";
	case INJECT_OTHER_LIBC:
		return "the program is linked with another C library (such as musl) than Brick's "
		       "libraries are, which cannot be preloaded into it";
	case INJECT_PRIVILEGED:
		return "the program changes its user or group or gets capabilities, so that "
		       "nothing can be preloaded";
	}
	return "";
}

const char *inject_obstacle_advice(enum inject_obstacle obstacle)
{
	switch (obstacle) {
	case INJECT_STATIC:
		return "link it with the C library as a shared one (without -static); ggml may "
		       "stay inside";
	case INJECT_FOREIGN:
		return "Brick is for 64-bit programs, on x86-64 and on AArch64, each with a Brick "
		       "that is built for it";
	case INJECT_OTHER_LIBC:
		return "build it for this system's C library, the one that Brick was built with";
	case INJECT_PRIVILEGED:
		return "run a copy of it without these bits, as the user that it would become";
	default:
		return NULL;
	}
}
