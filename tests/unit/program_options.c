/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice names an option of the program that was recorded; a program that lacks the option, and one
 * that is not known, are told the call of their library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ui/text/program_options.h"

static const char *say(const char *executable, const char *note, const char *const *command,
	enum program_setting setting, uint64_t number)
{
	static char out[PROGRAM_OPTION_BYTES];
	struct run_process process = {.executable = (char *)executable};
	struct run_note notes = {.key = (char *)note, .value = (char *)"/lib/x.so"};
	const struct run run = {.processes = &process,
		.process_count = 1,
		.notes = &notes,
		.note_count = note != NULL,
		.command = (char **)command};

	return program_option(out, &run, setting, number);
}

static void of_the_program(void **state)
{
	static const char llama[] = "llama.library";
	(void)state;

	assert_string_equal(
		say("/usr/bin/llama-cli", llama, NULL, PROGRAM_BATCH_THREADS, 4), "-tb 4");
	assert_string_equal(
		say("/usr/bin/llama-bench", llama, NULL, PROGRAM_BATCH_THREADS, 4), "-t 4");
	assert_string_equal(say("/usr/bin/llama-bench", llama, NULL, PROGRAM_FLASH, 0), "-fa 1");
	assert_string_equal(
		say("build/bin/brick-llama", llama, NULL, PROGRAM_UBATCH, 512), "--ubatch 512");
	assert_string_equal(say("/usr/bin/node", llama, NULL, PROGRAM_THREADS, 2),
		"createContext({threads: 2})");
	assert_string_equal(say("/usr/bin/python3.11", llama, NULL, PROGRAM_BATCH_THREADS, 2),
		"Llama(n_threads_batch=2)");
	assert_string_equal(say("/usr/bin/python3.11", "torch.version", NULL, PROGRAM_THREADS, 2),
		"torch.set_num_threads(2), or OMP_NUM_THREADS=2");
	assert_string_equal(
		say("/usr/bin/whisper-cli", "whisper.library", NULL, PROGRAM_CPU_ONLY, 0), "-ng");
}

static void of_the_library(void **state)
{
	(void)state;

	/* the program lacks such an option */
	assert_string_equal(say("brick-llama", "llama.library", NULL, PROGRAM_LAST_LOGITS, 0),
		"llama_batch.logits[] = 1 for the last token only");
	/* the program is not known; a model's name is not the program's */
	const char *const command[] = {"./engine", "-m", "/models/llama-2.gguf", NULL};
	assert_string_equal(say("/opt/engine", "llama.library", command, PROGRAM_BATCH_THREADS, 2),
		"llama_context_params.n_threads_batch = 2");
	/* prompts have a setting of their own there, and a program with one for both needs one */
	assert_string_equal(say("/opt/engine", "llama.library", command, PROGRAM_ALL_THREADS, 2),
		"llama_context_params.n_threads = 2 and n_threads_batch = 2");
	assert_string_equal(
		say("llama-server", "llama.library", NULL, PROGRAM_ALL_THREADS, 2), "-t 2 -tb 2");
	assert_string_equal(
		say("llama-bench", "llama.library", NULL, PROGRAM_ALL_THREADS, 2), "-t 2");
	assert_string_equal(
		say("/opt/engine", NULL, NULL, PROGRAM_THREADS, 1), "run it with 1 thread");
	/* the command of an unknown program names its option; a word without a number does not */
	const char *const own[] = {"./engine", "--threads", "2", NULL};
	const char *const text[] = {"./engine", "-t", "a title", NULL};
	assert_string_equal(say("/opt/engine", NULL, own, PROGRAM_BATCH_THREADS, 1), "--threads 1");
	assert_string_equal(
		say("/opt/engine", NULL, text, PROGRAM_BATCH_THREADS, 1), "run it with 1 thread");
	assert_string_equal(
		say("/opt/engine", NULL, NULL, PROGRAM_THREADS, 2), "run it with 2 threads");
}

/* Every setting has a text for every program, and the longest fits. */
static void none_is_cut(void **state)
{
	static const char *const programs[][2] = {{"llama-bench", "llama.library"},
		{"llama-server", "llama.library"}, {"llama-cli", "llama.library"},
		{"brick-llama", "llama.library"}, {"node", "llama.library"},
		{"python3", "llama.library"}, {"python3", "torch.version"},
		{"whisper-cli", "whisper.library"}, {"engine", "llama.library"},
		{"engine", "whisper.library"}, {"engine", NULL}};
	(void)state;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		for (int setting = 0; setting < PROGRAM_SETTINGS; setting++) {
			const char *said = say(programs[i][0], programs[i][1], NULL,
				(enum program_setting)setting, 123456);
			assert_in_range(strlen(said), 2, PROGRAM_OPTION_BYTES - 3);
			assert_null(strstr(said, "{}"));
		}
}

static void masks(void **state)
{
	const char *const outer[] = {"/usr/bin/taskset", "-c", "0", "./engine", NULL};
	const char *const other[] = {"make", "-C", "folder", NULL};
	const char *const own[] = {"llama-cli", "-C", "0x3", NULL};
	struct run run = {.command = (char **)outer};
	(void)state;

	assert_string_equal(program_mask_word(&run), "taskset");
	run.command = (char **)other;
	assert_null(program_mask_word(&run));
	run.command = (char **)own;
	assert_string_equal(program_mask_word(&run), "-C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_program),
		cmocka_unit_test(of_the_library),
		cmocka_unit_test(none_is_cut),
		cmocka_unit_test(masks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
