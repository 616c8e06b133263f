/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators launch on GPUs, and how that differs between two recordings, which may be of
 * different tools. An operator is what the host was in when it launched ("aten::mm"); where one of
 * the recordings knows none, a brick. All numbers are of a step. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "trace/run.h"

/* A kernel of an operator, or the shapes of its inputs. */
struct operator_use {
	char *name;
	double count; /* commands a step */
	double ns;
};

typedef ARRAY(struct operator_use) operator_uses; /* the longest first */

struct operator_row {
	char *name;
	double count, ns; /* commands a step, and their time */
	double calls;	  /* that launched them */
	operator_uses kernels, shapes;
};

typedef ARRAY(struct operator_row) operator_rows; /* by name */

/* The operators and the bricks of a recording's GPUs; all zero is empty. */
struct operators {
	operator_rows rows; /* by operator */
	operator_rows bricks;
	bool has_names; /* of operators */
};

/* 0 or -ENOMEM; call operators_fini() in both cases. A run without GPUs has no rows. */
int operators_init(struct operators *operators, const struct run *run);
void operators_fini(struct operators *operators);

enum operator_change_kind {
	OPERATOR_ADDED, /* only in B */
	OPERATOR_REMOVED,
	OPERATOR_SHAPES,  /* its inputs have other shapes or types */
	OPERATOR_KERNELS, /* other kernels of it take most of its time */
	OPERATOR_CALLS,	  /* its commands come from more or fewer launches: graphs are replayed */
	OPERATOR_COUNT,	  /* it launches more or fewer commands */
	OPERATOR_LENGTH,  /* the same commands take longer, or less long */
};

struct operator_change {
	enum operator_change_kind kind;	  /* the first that holds */
	const struct operator_row *a, *b; /* NULL: not there. Borrowed */
	double ns;			  /* B's time less A's */
	const char *of_a, *of_b; /* shapes or kernels that the other side has not; NULL: none */
};

struct operator_changes {
	ARRAY(struct operator_change) list; /* the largest difference of time first */
	bool by_brick;			    /* operators of one side are not known */
};

/* Only operators whose time differs by 2 % of the longer one, or more. 0 or -ENOMEM. */
int operator_changes_init(
	struct operator_changes *changes, const struct operators *a, const struct operators *b);
void operator_changes_fini(struct operator_changes *changes);

/* "added", "removed", "shapes", "kernels", "launches", "count", "length" */
const char *operator_change_name(enum operator_change_kind kind);
