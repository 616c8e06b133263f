/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with two copies of libbrick: its own, which is linked statically, and that of a plugin
 * (attack_plugin.c), whose path is the argument. 1000 bricks in each, three times in turns.
 */
#include <dlfcn.h>
#include <unistd.h>
#include "brick/brick.h"

enum { BRICKS = 1000, TURNS = 3 };

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*bricks)(int) = plugin ? (void (*)(int))dlsym(plugin, "attack_bricks") : NULL;

	if (!bricks)
		return 8;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < BRICKS; i++)
			brick_end(brick_begin(BRICK_RMS_NORM));
		bricks(BRICKS);
		usleep(200000); /* the recorder has seen both */
	}
	return 0;
}
