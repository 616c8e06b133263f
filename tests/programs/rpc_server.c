// SPDX-License-Identifier: Apache-2.0
//
// ggml's RPC server on one CPU, with the engine's own code for it. Run as: PROGRAM LIBRARIES
// HOST:PORT. It serves one client after the other, and ends when its input does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ggml-backend.h"

typedef void (*start_fn)(const char *endpoint, const char *cache, size_t threads, size_t devices,
	ggml_backend_dev_t *device);

static void *wait_for_end(void *unused)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t waits;

	if (argc != 3)
		return 2;
	ggml_backend_load_all_from_path(argv[1]);
	ggml_backend_reg_t rpc = ggml_backend_reg_by_name("RPC");
	ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
	start_fn start = rpc ? (start_fn)ggml_backend_reg_get_proc_address(
				       rpc, "ggml_backend_rpc_start_server")
			     : NULL;
	if (!start || !cpu || pthread_create(&waits, NULL, wait_for_end, NULL)) {
		fprintf(stderr, "no RPC backend, or no CPU\n");
		return 1;
	}
	start(argv[2], NULL, 1, 1, &cpu);
	return 1;
}
