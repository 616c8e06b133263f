/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks by name. Called by layer.c. */
#include "attach/vulkan/vulkan_hooks.h"

#include <string.h>

PFN_vkVoidFunction vulkan_hook(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction hook;
	} hooks[] = {
#define X(name) {"vk" #name, (PFN_vkVoidFunction)hook_##name},
		HOOKED_FUNCTIONS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].hook;
	return NULL;
}
