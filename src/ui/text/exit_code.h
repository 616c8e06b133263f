/* SPDX-License-Identifier: Apache-2.0 */
/* What the program ends with; the same for all commands (docs: brick.1, EXIT STATUS). */
#pragma once

enum cli_exit {
	CLI_DONE = 0,
	CLI_GATE = 1,	/* a gate failed: regression, divergence, budget, coverage */
	CLI_USAGE = 2,	/* wrong usage */
	CLI_INPUT = 3,	/* bad input file */
	CLI_SYSTEM = 4, /* the system lacks something, or writing failed */
};
