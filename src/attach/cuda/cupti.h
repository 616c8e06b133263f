/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI, opened at run time: where its library lies and its functions. Filled in once, before
 * anything else here runs, and only read from then on. Functions return enum cupti_result.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "attach/cuda/cuda_abi.h"

struct cupti {
	char path[PATH_MAX]; /* of the library */
	void *subscriber;    /* NULL: none */
	bool is_fit;	     /* it could be subscribed to */
	int (*version)(uint32_t *version);
	int (*result_string)(int result, const char **text);
	int (*subscribe)(void **subscriber, cupti_callback_fn callback, void *own);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id);
	int (*callback_name)(uint32_t domain, uint32_t id, const char **name);
	int (*register_callbacks)(cupti_request_fn request, cupti_complete_fn complete);
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*next_record)(uint8_t *buffer, size_t valid, struct cupti_record **record);
	int (*dropped)(cuda_handle context, uint32_t stream, size_t *count);
	int (*flush_all)(uint32_t flags);
	int (*timestamp)(uint64_t *ns);
	/* NULL if the library is too old for the function */
	int (*set_attribute)(uint32_t attribute, size_t *bytes, void *value);
	int (*graph_node_id)(cuda_handle node, uint64_t *id);
	int (*enable_driver_call)(uint32_t id, uint8_t enable);
	int (*enable_runtime_call)(uint32_t id, uint8_t enable);
	int (*use_timestamp)(cupti_timestamp_fn now);
};

extern struct cupti cupti;

/*
 * Find and open a CUPTI library; each further call tries the next. 0; or an error with its text in
 * `why`: -ENOENT: no (further) library, -ELIBACC: it lacks functions.
 */
int cupti_open(char *why, size_t bytes);

/* Text of a result, never NULL. */
const char *cupti_text(int result);

/*
 * The version of the CUDA headers ("12.4") that cuda_abi.h was compared with when Brick was built;
 * NULL: there were no headers.
 */
const char *abi_check_headers(void);
