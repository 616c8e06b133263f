/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the Vulkan layer when memory runs out while an instance or a device is made,
 * whichever of its allocations it is: the program gets one that the layer knows, or
 * VK_ERROR_OUT_OF_HOST_MEMORY, and then the driver's is destroyed again. On a double of the driver;
 * each allocation fails in a process of its own, since tables that have grown once ask for no more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include "tests/unit/failing_memory.h"

enum { MAX_ALLOCATIONS = 40, NOT_REACHED = 99 };

/* ---- a driver ---- */

/* What handles begin with: those of one instance, or of one device, have the same. */
static uint64_t instance_dispatch, device_dispatch;
static void *instance_object[] = {&instance_dispatch}, *physical_object[] = {&instance_dispatch},
	    *device_object[] = {&device_dispatch};
static int instances, devices;

static VKAPI_ATTR VkResult VKAPI_CALL make_instance(const VkInstanceCreateInfo *info,
	const VkAllocationCallbacks *allocator, VkInstance *instance)
{
	instances++;
	*instance = (VkInstance)instance_object;
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL end_instance(
	VkInstance instance, const VkAllocationCallbacks *allocator)
{
	instances--;
}

static VKAPI_ATTR VkResult VKAPI_CALL extensions_of(
	VkPhysicalDevice physical, const char *layer, uint32_t *count, VkExtensionProperties *list)
{
	if (list)
		strcpy(list->extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
	*count = 1;
	return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL domains_of(
	VkPhysicalDevice physical, uint32_t *count, VkTimeDomainEXT *domains)
{
	domains[0] = VK_TIME_DOMAIN_DEVICE_EXT;
	domains[1] = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
	*count = 2;
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL properties_of(
	VkPhysicalDevice physical, VkPhysicalDeviceProperties *properties)
{
	memset(properties, 0, sizeof *properties);
}

static VKAPI_ATTR void VKAPI_CALL memory_of(
	VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties *properties)
{
	memset(properties, 0, sizeof *properties);
}

static VKAPI_ATTR void VKAPI_CALL families_of(
	VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties *families)
{
	*count = 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL make_device(VkPhysicalDevice physical,
	const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *device)
{
	devices++;
	*device = (VkDevice)device_object;
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL end_device(
	VkDevice device, const VkAllocationCallbacks *allocator)
{
	devices--;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for_device(VkDevice device)
{
	return VK_SUCCESS;
}

static const struct {
	const char *name;
	PFN_vkVoidFunction function;
} functions[] = {
	{"vkCreateInstance", (PFN_vkVoidFunction)make_instance},
	{"vkDestroyInstance", (PFN_vkVoidFunction)end_instance},
	{"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)extensions_of},
	{"vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", (PFN_vkVoidFunction)domains_of},
	{"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)properties_of},
	{"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)memory_of},
	{"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)families_of},
	{"vkCreateDevice", (PFN_vkVoidFunction)make_device},
	{"vkDestroyDevice", (PFN_vkVoidFunction)end_device},
	{"vkDeviceWaitIdle", (PFN_vkVoidFunction)wait_for_device},
};

static PFN_vkVoidFunction function_of(const char *name)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_instance(VkInstance instance, const char *name)
{
	return function_of(name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char *name)
{
	return function_of(name);
}

/* ---- a loader ---- */

VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(
	VkNegotiateLayerInterface *interface);

static VkNegotiateLayerInterface layer = {
	.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT, .loaderLayerInterfaceVersion = 2};

static VkResult create_instance(VkInstance *instance)
{
	VkLayerInstanceLink below = {.pfnNextGetInstanceProcAddr = of_instance};
	VkLayerInstanceCreateInfo link = {.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
		.function = VK_LAYER_LINK_INFO,
		.u.pLayerInfo = &below};
	VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pNext = &link};

	return ((PFN_vkCreateInstance)layer.pfnGetInstanceProcAddr(NULL, "vkCreateInstance"))(
		&info, NULL, instance);
}

static VkResult create_device(VkInstance instance, VkDevice *device)
{
	VkLayerDeviceLink below = {
		.pfnNextGetInstanceProcAddr = of_instance, .pfnNextGetDeviceProcAddr = of_device};
	VkLayerDeviceCreateInfo link = {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
		.function = VK_LAYER_LINK_INFO,
		.u.pLayerInfo = &below};
	VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &link};

	return ((PFN_vkCreateDevice)layer.pfnGetInstanceProcAddr(instance, "vkCreateDevice"))(
		(VkPhysicalDevice)physical_object, &info, NULL, device);
}

/* ---- what is asked of the layer ---- */

/* 0: as it should be; else a line of this file. */
#define EXPECT(condition)                \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int is_sound(VkResult result, int is_made, int is_known, int is_empty)
{
	if (result == VK_SUCCESS)
		return is_made && is_known;
	return result == VK_ERROR_OUT_OF_HOST_MEMORY && !is_made && is_empty;
}

static int knows_instance(VkInstance instance)
{
	return layer.pfnGetInstanceProcAddr(instance, "vkGetPhysicalDeviceProperties") != NULL;
}

static int try_instance(long allocation)
{
	VkInstance instance = VK_NULL_HANDLE;

	memory_fail_at(allocation);
	VkResult result = create_instance(&instance);
	int has_failed = memory_stop_failing();
	memory_count_end();
	EXPECT(is_sound(result, instances, instance && knows_instance(instance), !instance));
	EXPECT(has_failed || result == VK_SUCCESS);
	return has_failed ? 0 : NOT_REACHED;
}

static int try_device(long allocation)
{
	VkInstance instance = VK_NULL_HANDLE;
	VkDevice device = VK_NULL_HANDLE;

	EXPECT(create_instance(&instance) == VK_SUCCESS);
	memory_fail_at(allocation);
	VkResult result = create_device(instance, &device);
	int has_failed = memory_stop_failing();
	memory_count_end();
	EXPECT(is_sound(result, devices,
		device && layer.pfnGetDeviceProcAddr(device, "vkCreateDevice"), !device));
	EXPECT(has_failed || result == VK_SUCCESS);
	if (result == VK_SUCCESS)
		((PFN_vkDestroyDevice)layer.pfnGetDeviceProcAddr(device, "vkDestroyDevice"))(
			device, NULL);
	EXPECT(!devices);
	return has_failed ? 0 : NOT_REACHED;
}

static int in_child(int (*try)(long allocation), long allocation)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(try(allocation) & 0xff);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* At least so many allocations have failed. */
static void fail_each(int (*try)(long allocation), long least)
{
	for (long i = 0; i < MAX_ALLOCATIONS; i++) {
		int line = in_child(try, i);
		if (line == NOT_REACHED) {
			assert_true(i >= least);
			return;
		}
		if (line)
			fail_msg("allocation %ld: line %d (mod 256)", i, line);
	}
	fail_msg("more than %d allocations", MAX_ALLOCATIONS);
}

static void test_instances(void **state)
{
	fail_each(try_instance, 2);
}

static void test_devices(void **state)
{
	fail_each(try_device, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_devices),
	};

	if (!MEMORY_CAN_FAIL)
		return 77;
	return vkNegotiateLoaderLayerInterfaceVersion(&layer) != VK_SUCCESS ||
	       cmocka_run_group_tests(tests, NULL, NULL);
}
