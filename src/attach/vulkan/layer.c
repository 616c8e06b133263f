/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer's entry points: the loader asks the layer for functions, some of which are hooks.
 * Instances are created unchanged; devices are created with calibrated timestamps if the driver has
 * them. If anything is missing, the program's calls still go through.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/vulkan/vulkan_clock.h"
#include "attach/vulkan/vulkan_commands.h"
#include "attach/vulkan/vulkan_device.h"
#include "attach/vulkan/vulkan_queues.h"
#include "base/scope.h"
#include "brick/brick.h"
#include "lib/device/gpus.h"

#define LAYER_NAME "VK_LAYER_BRICK_profile"
#define EXPORT __attribute__((visibility("default")))

static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Instances. */

static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
	const VkLayerInstanceCreateInfo *at = info->pNext;

	while (at && !(at->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
			     at->function == VK_LAYER_LINK_INFO))
		at = at->pNext;
	return (VkLayerInstanceCreateInfo *)at;
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_create_instance(const VkInstanceCreateInfo *info,
	const VkAllocationCallbacks *allocator, VkInstance *instance)
{
	VkLayerInstanceCreateInfo *link = instance_link(info);

	if (!link || !link->u.pLayerInfo)
		return VK_ERROR_INITIALIZATION_FAILED;
	PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	PFN_vkCreateInstance create = (PFN_vkCreateInstance)next(NULL, "vkCreateInstance");
	if (!create)
		return VK_ERROR_INITIALIZATION_FAILED;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	VkResult result = create(info, allocator, instance);
	if (result != VK_SUCCESS)
		return result;
	struct vulkan_instance *in = calloc(1, sizeof(*in));
	if (in) {
		in->handle = *instance;
		in->next = next;
#define LOAD(name) in->name = (PFN_vk##name)next(in->handle, "vk" #name)
		LOAD(DestroyInstance);
		LOAD(EnumerateDeviceExtensionProperties);
		LOAD(GetPhysicalDeviceProperties);
		LOAD(GetPhysicalDeviceMemoryProperties);
		LOAD(GetPhysicalDeviceQueueFamilyProperties);
		const VkApplicationInfo *app = info->pApplicationInfo;
		if (app && app->apiVersion >= VK_API_VERSION_1_1)
			LOAD(GetPhysicalDeviceProperties2);
#undef LOAD
		in->time_domains = (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)next(
			in->handle, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
		if (vulkan_instance_add(in) == 0)
			return result;
		free(in);
	}
	/* An instance that the layer does not know could be used for nothing. */
	PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)next(*instance, "vkDestroyInstance");
	if (destroy)
		destroy(*instance, allocator);
	*instance = VK_NULL_HANDLE;
	return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(
	VkInstance instance, const VkAllocationCallbacks *allocator)
{
	SCOPED struct vulkan_instance *in = vulkan_instance_take(instance);

	if (in)
		in->DestroyInstance(instance, allocator);
}

/* Devices. */

static const void *device_info(const VkDeviceCreateInfo *info, VkLayerFunction function)
{
	const VkLayerDeviceCreateInfo *at = info->pNext;

	while (at && !(at->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
			     at->function == function))
		at = at->pNext;
	return at;
}

static bool has_extension(struct vulkan_instance *in, VkPhysicalDevice physical, const char *name)
{
	uint32_t count = 0;
	int found = 0;

	in->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
	SCOPED VkExtensionProperties *list = calloc(count + 1, sizeof(*list));
	if (list && in->EnumerateDeviceExtensionProperties(physical, NULL, &count, list) >= 0)
		for (uint32_t i = 0; i < count; i++)
			found |= !strcmp(list[i].extensionName, name);
	return found;
}

/* True if the device's clock can be read together with CLOCK_MONOTONIC. */
static bool can_calibrate(struct vulkan_instance *in, VkPhysicalDevice physical)
{
	VkTimeDomainEXT domains[16];
	uint32_t count = 16;
	int both = 0;

	if (!in->time_domains || !clock_may_calibrate() ||
		!has_extension(in, physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) ||
		in->time_domains(physical, &count, domains) < 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
		both |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT		   ? 1
			: domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT ? 2
									   : 0;
	return both == 3;
}

/* The program's list of extensions and ours; NULL: it stays as it is. */
static const char **with_calibration(const VkDeviceCreateInfo *info)
{
	const char *ours = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
	uint32_t count = info->enabledExtensionCount;

	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(info->ppEnabledExtensionNames[i], ours))
			return NULL;
	const char **list = calloc(count + 1, sizeof(*list));
	if (!list)
		return NULL;
	if (count)
		memcpy(list, info->ppEnabledExtensionNames, count * sizeof(*list));
	list[count] = ours;
	return list;
}

/* The vendor, by the number of PCI's list or of Khronos's; NULL: none that we know. */
static const char *vendor_of(uint32_t id)
{
	static const struct {
		uint32_t id;
		const char *name;
	} known[] = {{0x1002, "AMD"}, {0x1010, "ImgTec"}, {0x10de, "NVIDIA"}, {0x13b5, "ARM"},
		{0x5143, "Qualcomm"}, {0x8086, "Intel"}, {0x106b, "Apple"}, {0x14e4, "Broadcom"},
		{0x10005, "Mesa"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].id == id)
			return known[i].name;
	return NULL;
}

static void layer_describe_gpu(const struct vulkan_instance *in, VkPhysicalDevice physical,
	const VkPhysicalDeviceProperties *properties)
{
	VkPhysicalDeviceIDProperties ids = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
	VkPhysicalDeviceProperties2 more = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
	static const uint8_t none[VK_UUID_SIZE];
	char model[16];
	struct gpu_facts facts = {.name = properties->deviceName,
		.vendor = vendor_of(properties->vendorID),
		.model = properties->deviceID ? model : NULL};

	snprintf(model, sizeof(model), "0x%04x", properties->deviceID);
	if (in->GetPhysicalDeviceProperties2 && properties->apiVersion >= VK_API_VERSION_1_1)
		in->GetPhysicalDeviceProperties2(physical, &more);
	if (memcmp(ids.deviceUUID, none, sizeof(none)) != 0)
		facts.uuid = ids.deviceUUID;
	brick__gpu_describe("vulkan", (uintptr_t)physical, &facts);
}

static void layer_describe_device(struct vulkan_device *d, VkPhysicalDevice physical)
{
	struct vulkan_instance *in = d->instance;
	VkPhysicalDeviceProperties properties;
	VkPhysicalDeviceMemoryProperties memory;
	VkQueueFamilyProperties families[VULKAN_FAMILIES];
	const VkMemoryPropertyFlags wanted =
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

	in->GetPhysicalDeviceProperties(physical, &properties);
	in->GetPhysicalDeviceMemoryProperties(physical, &memory);
	d->family_count = VULKAN_FAMILIES;
	in->GetPhysicalDeviceQueueFamilyProperties(physical, &d->family_count, families);
	d->counter.period_ns = (double)properties.limits.timestampPeriod;
	d->counter.mask = UINT64_MAX;
	snprintf(d->name, sizeof(d->name), "%.63s", properties.deviceName);
	d->gpu = (uintptr_t)physical;
	layer_describe_gpu(in, physical, &properties);
	for (uint32_t i = 0; i < d->family_count; i++) {
		uint32_t bits = families[i].timestampValidBits;
		d->families[i].mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
		if (bits && d->families[i].mask < d->counter.mask)
			d->counter.mask = d->families[i].mask;
		d->families[i].can_copy =
			(families[i].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) !=
			0;
	}
	d->memory_type = UINT32_MAX;
	for (uint32_t i = memory.memoryTypeCount; i-- > 0;)
		if ((memory.memoryTypes[i].propertyFlags & wanted) == wanted)
			d->memory_type = i;
}

static struct vulkan_device *adopt_device(VkDevice handle, VkPhysicalDevice physical,
	struct vulkan_instance *in, PFN_vkGetDeviceProcAddr next, const VkDeviceCreateInfo *info)
{
	const VkLayerDeviceCreateInfo *data = device_info(info, VK_LOADER_DATA_CALLBACK);
	struct vulkan_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->handle = handle;
	d->next = next;
	d->instance = in;
	d->process = getpid();
	d->set_loader_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
	pthread_mutex_init(&d->lock, NULL);
	device_clock_init(&d->clock);
#define X(name) d->call.name = (PFN_vk##name)next(handle, "vk" #name);
	DEVICE_FUNCTIONS(X)
#undef X
	layer_describe_device(d, physical);
	return d;
}

static void exit_device(void *device)
{
	struct vulkan_device *d = device;

	if (d->process == getpid())
		queues_device_exit(d);
}

/* The program ends with devices that it did not destroy: before their drivers end, too. */
static void at_exit(void)
{
	vulkan_devices_each(exit_device);
}

static void watch_exit(void)
{
	atexit(at_exit);
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_create_device(VkPhysicalDevice physical,
	const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *device)
{
	struct vulkan_instance *in = vulkan_instance_of(physical);
	VkLayerDeviceCreateInfo *link =
		(VkLayerDeviceCreateInfo *)device_info(info, VK_LAYER_LINK_INFO);

	if (!in || !link || !link->u.pLayerInfo)
		return VK_ERROR_INITIALIZATION_FAILED;
	PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	PFN_vkCreateDevice create =
		(PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(
			in->handle, "vkCreateDevice");
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	VkLayerDeviceLink *below = link->u.pLayerInfo;
	int calibrated = can_calibrate(in, physical);
	const char **extensions = calibrated ? with_calibration(info) : NULL;
	VkDeviceCreateInfo ours = *info;
	if (extensions) {
		ours.ppEnabledExtensionNames = extensions;
		ours.enabledExtensionCount++;
	}
	VkResult result = create(physical, &ours, allocator, device);
	if (result != VK_SUCCESS && extensions) {
		/* Not because of us, or not with us: as the program asked for it. */
		calibrated = 0;
		link->u.pLayerInfo = below;
		result = create(physical, info, allocator, device);
	}
	free(extensions);
	if (result != VK_SUCCESS)
		return result;
	struct vulkan_device *d = adopt_device(*device, physical, in, next, info);
	if (!d || vulkan_device_add(d) < 0) {
		/* There is no memory for the layer's own record of it. */
		PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)next(*device, "vkDestroyDevice");
		if (destroy)
			destroy(*device, allocator);
		free(d);
		*device = VK_NULL_HANDLE;
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	d->has_calibration = calibrated && d->call.GetCalibratedTimestampsEXT;
	pthread_once(&exit_once, watch_exit); /* handlers run in reverse: after the driver's own */
	queues_device_begin(d);
	return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(
	VkDevice device, const VkAllocationCallbacks *allocator)
{
	struct vulkan_device *d = vulkan_device_of(device);

	if (!d)
		return;
	queues_device_end(d);
	commands_device_end(d);
	vulkan_device_take(d);
	d->call.DestroyDevice(device, allocator);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* Functions that the loader asks for. */

static VKAPI_ATTR VkResult VKAPI_CALL own_layer(uint32_t *count, VkLayerProperties *list)
{
	static const VkLayerProperties own = {
		LAYER_NAME, VK_API_VERSION_1_3, 1, "Times what command buffers do, for Brick"};

	if (!list) {
		*count = 1;
		return VK_SUCCESS;
	}
	if (!*count)
		return VK_INCOMPLETE;
	*count = 1;
	list[0] = own;
	return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL own_device_layer(
	VkPhysicalDevice physical, uint32_t *count, VkLayerProperties *list)
{
	return own_layer(count, list);
}

/* Our hook in front of a function of devices; NULL: there is none. */
static PFN_vkVoidFunction layer_hook_of(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction hook;
	} hooks[] = {
#define X(name) {"vk" #name, (PFN_vkVoidFunction)hook_##name},
		HOOKED_FUNCTIONS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].hook;
	return NULL;
}

static PFN_vkVoidFunction own_function(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction function;
	} own[] = {
		{"vkCreateInstance", (PFN_vkVoidFunction)layer_create_instance},
		{"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
		{"vkCreateDevice", (PFN_vkVoidFunction)layer_create_device},
		{"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device},
		{"vkEnumerateInstanceLayerProperties", (PFN_vkVoidFunction)own_layer},
		{"vkEnumerateDeviceLayerProperties", (PFN_vkVoidFunction)own_device_layer},
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(name, own[i].name))
			return own[i].function;
	return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name)
{
	struct vulkan_device *d = vulkan_device_of(device);

	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)device_function;
	if (!strcmp(name, "vkDestroyDevice"))
		return (PFN_vkVoidFunction)destroy_device;
	if (!d)
		return NULL;
	PFN_vkVoidFunction next = d->next(device, name), hook = next ? layer_hook_of(name) : NULL;
	return hook ? hook : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(
	VkInstance instance, const char *name)
{
	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)device_function;
	if (!strcmp(name, "vkGetInstanceProcAddr"))
		return (PFN_vkVoidFunction)instance_function;
	PFN_vkVoidFunction own = own_function(name);
	struct vulkan_instance *in = instance ? vulkan_instance_of(instance) : NULL;
	if (own || !in)
		return own;
	PFN_vkVoidFunction next = in->next(instance, name),
			   hook = next ? layer_hook_of(name) : NULL;
	return hook ? hook : next;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(
	VkNegotiateLayerInterface *interface)
{
	if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT)
		return VK_ERROR_INITIALIZATION_FAILED;
	if (interface->loaderLayerInterfaceVersion > CURRENT_LOADER_LAYER_INTERFACE_VERSION)
		interface->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
	interface->pfnGetInstanceProcAddr = instance_function;
	interface->pfnGetDeviceProcAddr = device_function;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
