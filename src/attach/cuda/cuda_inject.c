/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-cuda.so: loaded by the CUDA driver when the program initialises it, because `brick
 * record` sets CUDA_INJECTION64_PATH. Starts tracing through CUPTI, has it deliver records now and
 * then, and brings in the last ones when the program ends. Where tracing cannot be had the program
 * runs as it would without, and the recording says why.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attach/cuda/calls.h"
#include "attach/cuda/cupti.h"
#include "attach/cuda/cuda_graphs.h"
#include "attach/cuda/cuda_records.h"
#include "attach/common/entry.h"
#include "attach/cuda/cuda_replays.h"
#include "attach/common/helper_cpu.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/abi/attacher.h"
#include "brick/abi/enter.h"
#include "brick/attach.h"
#include "brick/session.h"
#include "lib/device/gpus.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"

enum { FLUSH_MS = 200, JOIN_S = 5 };

BRICK_API int InitializeInjection(void);

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t flusher;
	int runs, ends, is_child;
	bool traces;	 /* CUPTI calls us */
	bool is_watched; /* the process's end and forks are */
} inject = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* Delivery. */

static bool correlation_is_mended;

/* If ids are missing from the first records: what older versions need for them. */
static void mend_correlation(void)
{
	if (correlation_is_mended || !records_lack_correlation())
		return;
	correlation_is_mended = true;
	calls_enable_runtime();
	calls_enable_records();
	brick_note("cuda.correlation", "ids were missing: the runtime's calls are recorded, too");
}

static struct helper_cpu cuda_inject_cpu = {.name = "brick-cuda"};

enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_* */

/* For the list of GPUs. Facts that the driver does not tell are left out: calls may be missing. */
static void cuda_inject_describe_device(void *driver, int ordinal)
{
	int (*text_of)(char *, int, int) = NULL, (*uuid_of)(uint8_t *, int) = NULL;
	int (*attribute)(int *, int, int) = NULL, major = 0, minor = 0;
	char name[128] = "", runs[16] = "", pci[32] = "";
	uint8_t uuid[16];
	struct gpu_facts facts = {
		.name = name, .vendor = "NVIDIA", .architecture = runs, .pci = pci};

	if (!sys_function_find(driver, "cuDeviceGetName", &text_of) ||
		text_of(name, sizeof(name), ordinal))
		return;
	if (sys_function_find(driver, "cuDeviceGetPCIBusId", &text_of) &&
		text_of(pci, sizeof(pci), ordinal))
		pci[0] = '\0';
	if (sys_function_find(driver, "cuDeviceGetUuid", &uuid_of) && !uuid_of(uuid, ordinal))
		facts.uuid = uuid;
	/* "sm_90", as compilers call what the device runs */
	if (sys_function_find(driver, "cuDeviceGetAttribute", &attribute) &&
		!attribute(&major, COMPUTE_MAJOR, ordinal) &&
		!attribute(&minor, COMPUTE_MINOR, ordinal) && major > 0)
		snprintf(runs, sizeof(runs), "sm_%d%d", major, minor);
	brick__gpu_describe("cuda", (uint64_t)ordinal, &facts);
}

/*
 * Asks the driver about its devices once it is ready, which is before records come, and on a thread
 * that is in no call of CUDA's.
 */
static int devices_are_described;

static void describe_devices(void)
{
	void *driver =
		devices_are_described ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*count_of)(int *) = NULL, count = 0;

	if (!driver)
		return;
	devices_are_described =
		sys_function_find(driver, "cuDeviceGetCount", &count_of) && count_of(&count) == 0;
	for (int i = 0; i < count && i < 64; i++)
		cuda_inject_describe_device(driver, i);
	dlclose(driver);
}

/*
 * Launches may have to wait for a flush: for all of its time at most, which is noted as the flusher
 * thread's CPU time is (helper_cpu.h).
 */
static struct {
	uint64_t ns, told_ns;
} cuda_inject_flushes;

static void cuda_inject_tell_flushes(void)
{
	cuda_inject_flushes.told_ns = cuda_inject_flushes.ns;
	brick_note("cuda.flush", "%llu ns", (unsigned long long)cuda_inject_flushes.ns);
}

static void cuda_inject_flush(void)
{
	uint64_t begin = monotonic_ns();

	cupti.flush_all(0);
	cuda_inject_flushes.ns += monotonic_ns() - begin;
	if (cuda_inject_flushes.ns >= HELPER_CPU_MIN_NS &&
		cuda_inject_flushes.ns >= cuda_inject_flushes.told_ns / 2 * 3)
		cuda_inject_tell_flushes();
}

static void *flush_now_and_then(void *unused)
{
	struct timespec until;

	pthread_setname_np(pthread_self(), cuda_inject_cpu.name);
	records_thread_is_ours();
	pthread_mutex_lock(&inject.lock);
	while (!inject.ends) {
		until = timespec_in_ns(CLOCK_REALTIME, FLUSH_MS * 1000000ull);
		pthread_cond_timedwait(&inject.wake, &inject.lock, &until);
		if (inject.ends)
			break;
		pthread_mutex_unlock(&inject.lock);
		describe_devices();
		cuda_inject_flush();
		records_flush(0);
		mend_correlation();
		helper_cpu_at(&cuda_inject_cpu, thread_cpu_ns());
		pthread_mutex_lock(&inject.lock);
	}
	pthread_mutex_unlock(&inject.lock);
	return NULL;
}

static void note_devices(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*name_of)(char *, int, int) = NULL;
	char name[128];

	if (!driver)
		return;
	sys_function_find(driver, "cuDeviceGetName", &name_of);
	for (int i = 0; name_of && i < 64; i++)
		if (records_devices() >> i & 1 && !name_of(name, sizeof(name), i))
			brick_note("cuda.device", "%d %s", i, name);
	dlclose(driver);
}

/* Nothing is launched any more that is recorded: what was launched ends. */
static void cuda_inject_wait(void)
{
	enum { LEAST_LOOKS = 200 }; /* of a busy machine, where each takes long */
	const struct timespec pause = {.tv_nsec = 5000000};
	const uint64_t until_ns = monotonic_ns() + BRICK_ENTER_PATIENCE_MS * UINT64_C(1000000);

	for (int looks = 0;
		records_are_awaited() && (looks < LEAST_LOOKS || monotonic_ns() < until_ns);
		looks++) {
		nanosleep(&pause, NULL);
		cuda_inject_flush();
		records_flush(0);
	}
}

/*
 * The program ends: its exit handlers run, and CUDA's have not run yet. Or a recorder leaves the
 * program, which goes on.
 */
static void cuda_inject_stop(bool goes_on)
{
	char text[512];

	if (inject.is_child || !__atomic_exchange_n(&inject.traces, false, __ATOMIC_ACQ_REL))
		return; /* a process may end while a recorder leaves it */
	pthread_mutex_lock(&inject.lock);
	inject.ends = 1;
	pthread_cond_signal(&inject.wake);
	pthread_mutex_unlock(&inject.lock);
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, JOIN_S * NS_PER_S);
	if (inject.runs)
		pthread_timedjoin_np(inject.flusher, NULL, &until);
	if (goes_on)
		cuda_inject_wait();
	helper_cpu_end(&cuda_inject_cpu);
	cuda_inject_tell_flushes();
	describe_devices();
	cupti.flush_all(CUPTI_FLUSH_FORCED);
	records_flush(1);
	calls_stop();
	records_describe(text, sizeof(text));
	brick_note("cuda.records", "%s", text);
	note_devices();
	if (graph_calls_describe(text, sizeof(text)))
		brick_note("cuda.graphs", "%s", text);
	brick_note("cuda.clock", "%s; residual %u ns",
		records_clock_is_own() ? "CUPTI takes its times from CLOCK_MONOTONIC"
				       : "placed by readings of its clock",
		records_clock_residual_ns());
}

static void cuda_inject_finish(void)
{
	cuda_inject_stop(false);
}

/* CUDA does not work in the child of a fork, and its records are the parent's. */
static void cuda_inject_in_child(void)
{
	inject.is_child = 1;
	calls_stop();
}

/* Start. */

__attribute__((format(printf, 1, 2))) static void cuda_inject_refuse(const char *format, ...)
{
	char why[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	brick_note("cuda", "nothing is timed: %s", why);
}

static void refuse_subscriber(int result)
{
	if (result == CUPTI_HAS_SUBSCRIBER)
		cuda_inject_refuse("another profiler is tracing this process already");
	else if (result == CUPTI_NO_PRIVILEGES)
		cuda_inject_refuse("this user may not trace (see the driver's "
				   "NVreg_RestrictProfilingToAdmin)");
	else
		cuda_inject_refuse("cuptiSubscribe: %s (%d)", cupti_text(result), result);
}

static void set_attribute(uint32_t attribute, uint8_t value)
{
	size_t bytes = sizeof(value);

	if (cupti.set_attribute)
		cupti.set_attribute(attribute, &bytes, &value);
}

static bool is_wanted(const char *what)
{
	const char *wanted = brick__environment("BRICK_CUDA");
	return wanted && !strcmp(wanted, what);
}

static const struct {
	uint32_t kind;
	const char *name;
} wanted[] = {
	{CUPTI_CONCURRENT_KERNEL, "kernels"},
	{CUPTI_MEMCPY, "copies"},
	{CUPTI_MEMSET, "fills"},
	{CUPTI_MEMCPY_PEER, "copies between devices"},
	{CUPTI_GRAPH_TRACE, "whole graphs"},
};

/* A result of CUPTI's. */
static int enable_records(void)
{
	bool are_whole = is_wanted("whole-graphs");
	size_t count = sizeof(wanted) / sizeof(*wanted) - !are_whole;

	if (are_whole)
		graph_calls_are_whole();
	replays_want(are_whole					      ? REPLAYS_WHOLE
		     : is_wanted("full") || is_wanted("uncalibrated") ? REPLAYS_FULL
		     : is_wanted("light")			      ? REPLAYS_LIGHT
								      : REPLAYS_AS_COST);
	set_attribute(CUPTI_BUFFERS_ARE_ZEROED, 1);
	/* one of its own for each thread would come when that is full, seconds late */
	set_attribute(CUPTI_BUFFERS_PER_THREAD, 0);
	records_clock_offer();
	int result = cupti.register_callbacks(records_request, records_complete);
	if (result != CUPTI_FINE) {
		cuda_inject_refuse(
			"cuptiActivityRegisterCallbacks: %s (%d)", cupti_text(result), result);
		return result;
	}
	for (size_t i = 0; i < count; i++) {
		result = cupti.enable(wanted[i].kind);
		if (result == CUPTI_FINE)
			continue;
		if (i == 0) {
			cuda_inject_refuse(
				"records of kernels: %s (%d)", cupti_text(result), result);
			return result;
		}
		brick_note("cuda", "%s are not recorded: %s (%d)", wanted[i].name,
			cupti_text(result), result);
	}
	return CUPTI_FINE;
}

/*
 * Opens the first of the libraries that suits the driver. Returns a result of CUPTI's, or of
 * cupti_open().
 */
static int open_and_subscribe(void)
{
	char why[PATH_MAX + 64], unfit[PATH_MAX] = "";
	const char *reason = "does not suit the driver";

	if (cupti.is_fit) { /* a recorder was here before */
		int again = cupti.subscribe(&cupti.subscriber, calls_callback, NULL);
		if (again)
			refuse_subscriber(again);
		return again;
	}
	for (;;) {
		int result = cupti_open(why, sizeof(why));
		if (result && *unfit)
			cuda_inject_refuse("%s %s", unfit, reason);
		else if (result)
			cuda_inject_refuse("%s", why);
		if (result)
			return result;
		uint32_t version = 0;
		bool is_old =
			cupti.version(&version) != CUPTI_FINE || version < CUPTI_VERSION_OLDEST;
		if (is_old && !*unfit)
			reason = "is older than CUDA 11, and its records are laid out otherwise";
		result = is_old ? CUPTI_UNREADY
				: cupti.subscribe(&cupti.subscriber, calls_callback, NULL);
		cupti.is_fit = result == CUPTI_FINE;
		int is_answer = result == CUPTI_HAS_SUBSCRIBER || result == CUPTI_NO_PRIVILEGES;
		if (result == CUPTI_FINE)
			return result;
		if (is_answer || (result != CUPTI_UNREADY && !*unfit)) {
			refuse_subscriber(result);
			return result;
		}
		if (!*unfit)
			snprintf(unfit, sizeof(unfit), "%s", cupti.path);
	}
}

/* 0, or why not: negative, or a result of CUPTI's. The recording has been told. */
static int start_tracing(void)
{
	int result = records_prepare();

	if (result) {
		cuda_inject_refuse("no memory for buffers");
		return result;
	}
	result = open_and_subscribe();
	if (result)
		return result;
	result = enable_records();
	if (!result) {
		result = calls_enable();
		if (result)
			cuda_inject_refuse("callbacks: %s (%d)", cupti_text(result), result);
	}
	if (result) {
		calls_stop();
		cupti.unsubscribe(cupti.subscriber);
	}
	return result;
}

static int is_of_torch(struct dl_phdr_info *info, size_t size, void *unused)
{
	return info->dlpi_name && strstr(info->dlpi_name, "/libtorch_cpu.so") != NULL;
}

/* What traces, and its known faults. */
static void cuda_inject_describe(void)
{
	uint32_t version = 0;
	const char *headers = abi_check_headers();

	cupti.version(&version);
	brick_note(
		"cuda", "activity records through CUPTI (API version %u): %s", version, cupti.path);
	brick_note("cuda.headers", "%s",
		headers ? headers : "none when this was built: from the documentation");
	if (version == CUPTI_VERSION_13_0)
		brick_note("cuda.warning",
			"CUPTI of CUDA 13.0 can crash at a flush: 13.0 Update 1 has that mended");
	if (dl_iterate_phdr(is_of_torch, NULL))
		brick_note("cuda.warning",
			"PyTorch's own profiler (Kineto) gets no events of the GPU while this is "
			"recorded");
}

static void cuda_inject_start(void)
{
	if (is_wanted("off")) {
		cuda_inject_refuse("BRICK_CUDA=off");
		return;
	}
	if (is_wanted("uncalibrated"))
		calls_do_not_calibrate("BRICK_CUDA=uncalibrated");
	if (start_tracing())
		return;
	records_clock_sample();
	cuda_inject_describe();
	if (!inject.is_watched) {
		pthread_atfork(NULL, NULL, cuda_inject_in_child);
		atexit(cuda_inject_finish);
	}
	inject.traces = inject.is_watched = true;
	inject.runs = !thread_start(&inject.flusher, NULL, 0, flush_now_and_then, NULL);
	if (!inject.runs)
		brick_note("cuda", "no thread for delivery: records come when buffers are full");
}

/* For the driver. Whatever happens, the program's own initialisation goes on. */
int InitializeInjection(void)
{
	static bool
		has_started; /* by somebody, whom nobody waits for: it may hold the loader's lock */
	KEEP_ERRNO();

	if (brick_thread_ready() == 0 && !__atomic_exchange_n(&has_started, true, __ATOMIC_RELAXED))
		cuda_inject_start();
	return 1;
}

/*
 * A recorder is in the running process (attach/common/entry.c). CUPTI may be subscribed to at any
 * time; contexts, streams, modules and graphs that exist are known by their first use only.
 */
BRICK_API void brick_enter_beside(int what);
void brick_enter_beside(int what)
{
	if (inject.is_child) {
		if (what == ENTRY_BESIDE_BEGIN)
			cuda_inject_refuse("the process was forked by one that was recorded");
		return;
	}
	if (what == ENTRY_BESIDE_BEGIN && !inject.traces) {
		inject.ends = devices_are_described = 0;
		correlation_is_mended = false;
		graph_calls_restart();
		cuda_inject_flushes.ns = cuda_inject_flushes.told_ns = 0;
		calls_go_on();
		calls_do_not_calibrate("the process ran already");
		cuda_inject_start();
	} else if (what == ENTRY_BESIDE_LEAVE && inject.traces) {
		cuda_inject_stop(true);
		records_stop();
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			cupti.disable(wanted[i].kind);
		if (correlation_is_mended)
			calls_disable_records();
		cupti.unsubscribe(cupti.subscriber);
		cupti.flush_all(CUPTI_FLUSH_FORCED); /* the rest of the buffers */
	} else if (what == ENTRY_BESIDE_FORGET && !inject.traces) {
		records_forget();
	}
}

/* Tells `brick doctor` if there is a CUPTI to trace with. */
BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	uint32_t version = 0;
	char why[512];
	int error = cupti_open(why, sizeof(why));

	if (error) {
		snprintf(text, bytes, "kernels of CUDA programs cannot be traced: %s", why);
		return error;
	}
	cupti.version(&version);
	snprintf(text, bytes, "CUDA programs are traced through %s (API version %u)", cupti.path,
		version);
	return 0;
}
