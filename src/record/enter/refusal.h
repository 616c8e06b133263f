/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences that say why a process cannot be entered, and what to do about it. Any thread. */
#pragma once

enum { REFUSAL_BYTES = 1024 };

/* Writes the sentence, and returns the error. */
int refusal(char why[REFUSAL_BYTES], int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
