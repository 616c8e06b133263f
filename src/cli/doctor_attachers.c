/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of programs can be recorded as they are: for each attacher whether its library is
 * here, can be preloaded where it must, and what it says of itself. Called by `brick doctor`.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brick/abi/attacher.h"
#include "cli/cmd_doctor.h"
#include "record/inject/inject.h"

/* 1: it has something to say of itself. */
static int ask(const char *library, int *status, char *text, size_t bytes)
{
	brick_attacher_check_fn check = NULL;
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	void *found = handle ? dlsym(handle, BRICK_ATTACHER_CHECK) : NULL;

	if (!found)
		return 0;
	memcpy(&check, &found, sizeof check);
	*status = check(text, bytes);
	text[bytes - 1] = '\0';
	return 1;
}

struct answer {
	int any, status;
	char text[PATH_MAX + 256];
};

/* In a process of its own, so that nothing of the library stays here, and it may even crash. */
static struct answer ask_library(const char *library)
{
	struct answer answer = {0};
	int ends[2];

	if (pipe(ends) != 0)
		return answer;
	pid_t pid = fork();
	if (pid == 0) {
		answer.any = ask(library, &answer.status, answer.text, sizeof answer.text);
		ssize_t n = write(ends[1], &answer, sizeof answer);
		_exit(n == (ssize_t)sizeof answer ? 0 : 1);
	}
	close(ends[1]);
	size_t got = 0;
	for (ssize_t n = 1; pid > 0 && n > 0 && got<sizeof answer; got += n> 0 ? (size_t)n : 0)
		n = read(ends[0], (char *)&answer + got, sizeof answer - got);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (got < sizeof answer)
		answer = (struct answer){pid > 0, -1, "its library crashed when it was asked"};
	return answer;
}

static int has_driver(const struct attacher *a)
{
	void *driver = a->driver ? dlopen(a->driver, RTLD_LAZY | RTLD_LOCAL) : NULL;

	if (driver)
		dlclose(driver);
	return driver || !a->driver;
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

static void add(struct doctor *doctor, const struct attacher *a)
{
	const char *name = a->doctor_name ? a->doctor_name : a->name;
	char library[PATH_MAX], why[512];

	if (!has_driver(a)) {
		doctor_add(doctor, "Recording", name, DOCTOR_ABSENT, NULL,
			"no %s programs here: %s is missing", a->title, a->driver);
		return;
	}
	enum inject_obstacle obstacle = inject_library(a, library, sizeof library);
	if (obstacle != INJECT_FINE)
		add_missing(doctor, a, obstacle);
	else if (a->entry == ATTACHER_PRELOAD && !doctor_try_preload(library, why, sizeof why))
		doctor_add(doctor, "Recording", name, DOCTOR_NO, a->if_refused,
			"%s cannot be preloaded: %s", library, why);
	else
		add_present(doctor, a, library);
}

void doctor_attachers(struct doctor *doctor)
{
	for (const struct attacher *const *a = attachers; *a; a++)
		add(doctor, *a);
}
