/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one hook of the system's: ggml opens and closes its backends, and another library may then
 * lie where one was that we know. What has been found there is forgotten before anybody can use it.
 */
#include <dlfcn.h>
#include "attach/ggml/resolve.h"
#include "brick/export.h"

BRICK_API int dlclose(void *handle);
int dlclose(void *handle)
{
	return resolve_close(handle);
}
