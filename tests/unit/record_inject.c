/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder finds out about programs before it runs them, about processes, and its private
 * directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/process_start.h"
#include "record/inject/inject.h"
#include "record/process.h"
#include "record/session_dir.h"

static char path[] = "/tmp/brick-unit-XXXXXX";

/* A file with an ELF header of this program's own, changed, one program header and a name. */
static enum inject_obstacle examine_with(
	unsigned char class, unsigned machine_offset, unsigned type, const char *interpreter)
{
	Elf64_Ehdr elf;
	Elf64_Phdr segment = {.p_type = type,
		.p_offset = sizeof elf + sizeof segment,
		.p_filesz = strlen(interpreter)};
	int own = open("/proc/self/exe", O_RDONLY);

	assert_int_equal(read(own, &elf, sizeof elf), sizeof elf);
	close(own);
	elf.e_ident[EI_CLASS] = class;
	elf.e_machine = (Elf64_Half)(elf.e_machine + machine_offset);
	elf.e_phoff = sizeof elf;
	elf.e_phnum = 1;
	int fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, &elf, sizeof elf), sizeof elf);
	assert_int_equal(write(fd, &segment, sizeof segment), sizeof segment);
	assert_int_equal(write(fd, interpreter, segment.p_filesz), segment.p_filesz);
	close(fd);
	return inject_examine(path);
}

static enum inject_obstacle examine(unsigned char class, unsigned machine_offset, unsigned type)
{
	return examine_with(class, machine_offset, type, "");
}

static void programs_are_told_apart(void **state)
{
	assert_int_equal(inject_examine("/proc/self/exe"), INJECT_FINE);
	assert_int_equal(examine(ELFCLASS64, 0, PT_INTERP), INJECT_FINE);
	assert_int_equal(examine(ELFCLASS64, 0, PT_LOAD), INJECT_STATIC);
	assert_int_equal(examine(ELFCLASS32, 0, PT_INTERP), INJECT_FOREIGN);
	assert_int_equal(examine(ELFCLASS64, 1, PT_INTERP), INJECT_FOREIGN);
	assert_int_equal(examine_with(ELFCLASS64, 0, PT_INTERP, "/lib/ld-musl-x86_64.so.1"),
		INJECT_OTHER_LIBC);
	assert_int_equal(
		examine_with(ELFCLASS64, 0, PT_LOAD, "/lib/ld-musl-x86_64.so.1"), INJECT_STATIC);
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(inject_examine(path), INJECT_FOREIGN);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(
		inject_examine(path), INJECT_FINE); /* no ELF file: whatever exec makes of it */
	assert_int_equal(inject_examine("/nonexistent"), INJECT_FINE);
}

static void commands_are_found_like_a_shell_does(void **state)
{
	char found[PATH_MAX];
	char *saved = strdup(getenv("PATH"));

	assert_int_equal(inject_resolve("sh", found, sizeof found), 1);
	assert_int_equal(access(found, X_OK), 0);
	assert_int_equal(inject_resolve("/bin/sh", found, sizeof found), 1);
	assert_int_equal(inject_resolve("no-such-command", found, sizeof found), 0);
	assert_int_equal(inject_resolve("/tmp", found, sizeof found), 0);
	assert_int_equal(inject_resolve("sh", found, 4), 0);
	/* an empty entry is the current directory */
	setenv("PATH", "/nonexistent::/bin", 1);
	assert_int_equal(chdir("/bin"), 0);
	assert_int_equal(inject_resolve("sh", found, sizeof found), 1);
	assert_string_equal(found, "./sh");
	setenv("PATH", saved, 1);
	free(saved);
}

static void start_times_tell_processes_apart(void **state)
{
	unsigned long long own = process_start_time(getpid());

	assert_true(own > 0);
	assert_int_equal(process_start_time(getpid()), own);
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(process_start_time(child) >= own);
	kill(child, SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_start_time(child), 0); /* a zombie is not alive */
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_start_time(child), 0);
}

static void count_session(void *context, const char *name, pid_t pid)
{
	assert_string_equal(name, "17-x.session");
	assert_int_equal(pid, 17);
	++*(int *)context;
}

/* As an ordinary user, to whom files of a process without memory are closed. 0: it is unknown. */
static int zombie_is_known(void)
{
	siginfo_t info;

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 2;
	pid_t child = fork();
	if (!child)
		_exit(0);
	if (child < 0 || waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT))
		return 3;
	if (process_is_under(child, "/nowhere") != PROCESS_IS_UNKNOWN)
		return 4;
	/* it is none of another namespace */
	return process_hold_writer(child, "none.session").pid == child ? 0 : 5;
}

static void what_has_ended_is_unknown(void **state)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(zombie_is_known());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* In a /proc that shows an ordinary user none of others' processes. 0: it is not taken for ended.
 */
static int hidden_is_held(void)
{
	int held;

	if (geteuid() || unshare(CLONE_NEWNS) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("proc", "/proc", "proc", 0, "hidepid=2"))
		return 77;
	pid_t child = fork();
	if (!child)
		for (;;)
			pause();
	if (child < 0)
		return 3;
	if (setgroups(0, NULL) || setegid(65534) || seteuid(65534)) /* group 0 sees all */
		held = 4;
	else /* it lives, and nobody can say that it is the writer */
		held = process_hold_writer(child, "none.session").pid ? 5 : 0;
	if (!held && process_hold_writer(child, "none.session").pidfd != -1)
		held = 6;
	if (seteuid(0))
		held = 7;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return held;
}

static void what_is_hidden_has_not_ended(void **state)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(hidden_is_held());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* root alone mounts */
	assert_int_equal(status, 0);
}

static void the_directory_is_private_and_vanishes(void **state)
{
	static const char *const names[] = {"17-x.session", ".17-x.session", "x.session",
		"17.session", "-1-x.session", "17-x", "99999999999-x.session"};
	struct session_dir dir;
	struct stat st;
	int count = 0;

	assert_int_equal(session_dir_create(&dir), 0);
	assert_int_equal(stat(dir.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		close(openat(dir.fd, names[i], O_CREAT | O_WRONLY, 0600));
	session_dir_each(&dir, count_session, &count);
	assert_int_equal(count, 1);
	/* a second one leaves the first, whose owner lives, alone */
	struct session_dir other;
	assert_int_equal(session_dir_create(&other), 0);
	session_dir_remove(&other);
	assert_int_equal(stat(dir.path, &st), 0);
	session_dir_remove(&dir);
	assert_int_equal(stat(dir.path, &st), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_told_apart),
		cmocka_unit_test(commands_are_found_like_a_shell_does),
		cmocka_unit_test(start_times_tell_processes_apart),
		cmocka_unit_test(what_has_ended_is_unknown),
		cmocka_unit_test(what_is_hidden_has_not_ended),
		cmocka_unit_test(the_directory_is_private_and_vanishes),
	};
	close(mkstemp(path));
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
