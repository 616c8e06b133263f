/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the backend for Vulkan where its headers were missing when Brick was built. */
#include "lib/backends/absent_backend.h"

BRICK_BACKEND_ABSENT(brick__backend_vulkan, "vulkan", BRICK_SOURCE_TIMESTAMP_QUERY,
	"Brick was built without Vulkan's headers (libvulkan-dev)");
