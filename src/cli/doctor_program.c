/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ways to attach will work for one program, before it is run: whether anything can be
 * preloaded, how ggml in its files would be reached, which libraries of devices it is linked with.
 * Called by `brick doctor -- CMD` and `brick doctor PID`.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_doctor.h"
#include "cli/program_files.h"
#include "cli/program_ggml.h"
#include "record/inject/inject.h"

#define GROUP "Program"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

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

/* is_open: something can be preloaded. */
static void add_way(
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

/* Is all of this kind that must be hooked? */
static bool can(const char reached[GGML_SYMBOL_COUNT], enum ggml_use use, enum ggml_need need)
{
	bool any = false, all = true;

	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (ggml_symbols[i].use == use && ggml_symbols[i].need == need) {
			any |= reached[i];
			all &= reached[i] != 0;
		}
	return need == GGML_MUST ? all : any;
}

static void add_outcome(
	struct doctor *doctor, const char reached[GGML_SYMBOL_COUNT], bool any, bool has_whisper)
{
	bool nodes = reached[GGML_NODE_FORWARD], waits = reached[GGML_BARRIER];
	bool steps = can(reached, GGML_FOR_STEPS, GGML_MAY) || has_whisper;

	if (!any)
		doctor_add(doctor, GROUP, "nodes", DOCTOR_ABSENT,
			"what it starts is recorded as well: look at that; for a program that "
			"opens ggml's libraries while it runs (Python, node's addons, backends), "
			"look at these: --engine DIR, or at the running process: PID",
			"no ggml in the program or in what it is linked with");
	else if (nodes)
		doctor_add(doctor, GROUP, "nodes", steps && waits ? DOCTOR_OK : DOCTOR_LIMITED,
			steps ? "what threads wait for each other is their nodes' time"
			      : "a step is a graph then, and its tokens are not known",
			"each node is timed on each thread, without splitting the graph%s%s",
			waits ? "" : "; waiting is not kept apart from work",
			has_whisper ? "; steps are known from whisper's graphs"
			: steps	    ? ""
				    : "; no llama.cpp: steps are not seen");
	else if (can(reached, GGML_FOR_CALLBACK, GGML_MUST))
		doctor_add(doctor, GROUP, "nodes", DOCTOR_LIMITED, NULL,
			"each node is timed by the scheduler's evaluation callback, which splits "
			"the graph: times are inflated");
	else
		doctor_add(doctor, GROUP, "nodes", DOCTOR_NO, NULL,
			"the functions that are called for each node cannot be hooked");
}

static void add_devices(struct doctor *doctor, const char *path)
{
	static const struct {
		const char *library, *finding;
	} devices[] = {
		{"libOpenCL.so", "OpenCL: its queues are recorded"},
		{"libvulkan.so", "Vulkan: its command buffers are recorded"},
		{"libcuda.so", "CUDA: its streams are recorded, where CUPTI is"},
		{"libcudart.so", "CUDA: its streams are recorded, where CUPTI is"},
		{"libggml-vulkan", "ggml on Vulkan: each command belongs to its node"},
		{"libggml-cuda", "ggml on CUDA: each kernel belongs to its node, where CUPTI is"},
		{"libggml-opencl", "ggml on OpenCL: each kernel belongs to its node"},
	};

	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (!strncmp(base_name(path), devices[i].library, strlen(devices[i].library)))
			doctor_add(doctor, GROUP, "devices", DOCTOR_OK, NULL, "%s",
				devices[i].finding);
}

static void look_at_files(struct doctor *doctor, const struct program_files *files)
{
	char reached[GGML_SYMBOL_COUNT] = {0};
	bool any = false, has_whisper = false;

	for (size_t i = 0; i < files->paths.count; i++) {
		struct program_ggml ggml;
		const char *path = files->paths.items[i];
		add_devices(doctor, path);
		if (!strncmp(base_name(path), "libbrick", 8) || program_ggml(&ggml, path))
			continue;
		any |= ggml.way != PROGRAM_GGML_NONE;
		has_whisper |= ggml.has_whisper != 0;
		for (size_t s = 0; s < GGML_SYMBOL_COUNT; s++)
			reached[s] |= ggml.reached[s];
		if (ggml.way != PROGRAM_GGML_UNKNOWN || i == 0)
			add_way(doctor, path, &ggml, files->obstacle == INJECT_FINE);
	}
	if (files->obstacle == INJECT_FINE)
		add_outcome(doctor, reached, any, has_whisper);
}

static const char *reason(int error)
{
	return error == -ENOENT	  ? "there is no such command"
	       : error == -EISDIR ? "it is a directory"
				  : "it may not be run: it is not marked as executable";
}

static void add_named(struct doctor *doctor, const struct program_files *files)
{
	for (size_t i = 0; i < files->named.count; i++)
		doctor_add(doctor, GROUP, "named", DOCTOR_OK, NULL,
			"%s, by the command or its script: what it would start or open is looked "
			"at as well",
			files->named.items[i]);
}

void doctor_command(struct doctor *doctor, char *const *command)
{
	struct program_files files;
	int error = program_files_of_command(&files, command);

	if (error) {
		doctor->cannot_record = 1;
		doctor_add(doctor, GROUP, "program", DOCTOR_NO, NULL, "%s: %s", command[0],
			reason(error));
		return;
	}
	doctor_add(doctor, GROUP, "program", DOCTOR_OK, NULL, "%s%s, linked with %zu libraries",
		files.paths.items[0], files.interpreter ? ", which runs the script" : "",
		files.own - 1);
	add_obstacle(doctor, files.obstacle);
	if (files.obstacle == INJECT_FINE)
		add_named(doctor, &files);
	look_at_files(doctor, &files);
	program_files_fini(&files);
}

static bool is_attached(const struct program_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		if (!strncmp(base_name(files->paths.items[i]), "libbrick-", 9))
			return true;
	return false;
}

void doctor_process(struct doctor *doctor, long pid)
{
	struct program_files files;
	int error = program_files_of_process(&files, pid);

	if (error) {
		doctor->cannot_record = 1;
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
	add_obstacle(doctor, files.obstacle);
	look_at_files(doctor, &files);
	program_files_fini(&files);
}
