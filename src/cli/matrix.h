/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of commands that are run: "--param threads=1,2,4" replaces {threads} in the commands'
 * words by each of these values. A setting is a combination of values, numbered from 0; the last
 * parameter changes fastest. Main thread.
 */
#pragma once

#include "base/array.h"
#include "cli/options.h"

struct matrix_param {
	char *name;
	ARRAY(char *) values;
};

struct matrix {
	ARRAY(struct matrix_param) params;
};

/* Setter of an option "NAME=VALUE,...", which can be given several times; stores into a matrix. */
void option_param(const struct option_use *use, const char *text);

/* Add a value, unless the parameter has it. */
void matrix_value(struct matrix_param *param, const char *format, ...) BRICK_PRINTF(2, 3);

/* The number of combinations; 1 without parameters. */
size_t matrix_size(const struct matrix *matrix);

/* The index of a parameter's value in a setting. */
size_t matrix_index(const struct matrix *matrix, size_t setting, size_t param);

/* "threads=1 model=a"; the caller frees. */
char *matrix_text(const struct matrix *matrix, size_t setting);

/* A text with the setting's values in place of {NAME}; the caller frees. */
char *matrix_fill(const struct matrix *matrix, size_t setting, const char *text);

/* matrix_fill() for all words of a command; the caller frees with run_list_free(). */
char **matrix_command(const struct matrix *matrix, size_t setting, char *const *command);

/* The first parameter whose {NAME} is in no word of a command; NULL: all are used. */
const char *matrix_unused(const struct matrix *matrix, char *const *command);

void matrix_fini(struct matrix *matrix);
