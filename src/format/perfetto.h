/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers of Perfetto's trace format that Brick writes and reads: facts of that format, by
 * message. The writer and the reader share them; docs/FORMAT.md says how they are used.
 */
#pragma once

enum perfetto_trace { TRACE_PACKET = 1 };

enum perfetto_packet {
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_SYSTEM_INFO = 45,
	PACKET_COMPRESSED = 50,
	PACKET_RENDER_STAGE = 53,
	PACKET_TIMESTAMP_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_MODULE_SYMBOLS = 61,
	PACKET_PERF_SAMPLE = 66,
	PACKET_EXTENSION_DESCRIPTOR = 72,
	PACKET_TRACE_UUID = 89,
	PACKET_GPU_INFO = 128,
};

enum perfetto_sequence_flags { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

enum perfetto_defaults {
	DEFAULTS_TRACK_EVENT = 11,
	DEFAULTS_PERF_SAMPLE = 12,
	DEFAULTS_CLOCK_ID = 58,
};
enum perfetto_event_defaults { EVENT_DEFAULTS_TRACK_UUID = 11 };

enum perfetto_clock_snapshot { SNAPSHOT_CLOCKS = 1 };
enum perfetto_clock {
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_IS_INCREMENTAL = 3,
	CLOCK_UNIT_NS = 4,
};
enum perfetto_clock_id {
	CLOCK_ID_REALTIME = 1,
	CLOCK_ID_MONOTONIC = 3,
	CLOCK_ID_BOOTTIME = 6,
	CLOCK_ID_LANE = 64, /* the first of those that belong to one sequence */
};

enum perfetto_interned {
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_FRAMES = 6,
	INTERNED_STACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_MAPPINGS = 19,
	INTERNED_GRAPHICS_CONTEXTS = 23,
	INTERNED_GPU_NAMES = 24, /* of queues and of stages */
	INTERNED_STRING_VALUES = 29,
	INTERNED_COMPUTE_KERNELS = 1000,
	INTERNED_COMPUTE_ARGS = 1001, /* their names */
};
enum perfetto_interned_entry { ENTRY_IID = 1, ENTRY_TEXT = 2 };

/* Stacks. */
enum perfetto_mapping {
	MAPPING_IID = 1,
	MAPPING_BUILD_ID = 2,
	MAPPING_LOAD_BIAS = 6,
	MAPPING_PATH = 7,
	MAPPING_EXACT_OFFSET = 8,
};
enum perfetto_frame { FRAME_IID = 1, FRAME_MAPPING = 3, FRAME_ADDRESS = 4 };
enum perfetto_stack { STACK_IID = 1, STACK_FRAME = 2 };
enum perfetto_perf_sample {
	PERF_CPU = 1,
	PERF_PID = 2,
	PERF_TID = 3,
	PERF_STACK = 4,
	PERF_CPU_MODE = 5,
	PERF_TIMEBASE_COUNT = 6,
};
enum perfetto_cpu_mode { PERF_MODE_USER = 2 };
enum perfetto_perf_defaults { PERF_DEFAULTS_TIMEBASE = 1 };
enum perfetto_timebase { TIMEBASE_FREQUENCY = 2, TIMEBASE_COUNTER = 4, TIMEBASE_CLOCK = 11 };
enum perfetto_timebase_counter { TIMEBASE_CPU_CLOCK = 1 };
enum perfetto_timebase_clock { TIMEBASE_MONOTONIC = 2 };
enum perfetto_module_symbols { SYMBOLS_PATH = 1, SYMBOLS_BUILD_ID = 2, SYMBOLS_ADDRESS = 3 };
enum perfetto_address_symbols { ADDRESS_ADDRESS = 1, ADDRESS_LINE = 2 };
enum perfetto_symbol_line { SYMBOL_LINE_FUNCTION = 1 };

enum perfetto_track {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER = 8,
	TRACK_SIBLING_MERGE = 15,
};
enum perfetto_sibling_merge { SIBLING_MERGE_NONE = 2 };
enum perfetto_process_tree { PROCESS_TREE_PROCESSES = 1, PROCESS_TREE_THREADS = 2 };
enum perfetto_tree_thread {
	TREE_THREAD_TID = 1,
	TREE_THREAD_NAME = 2,
	TREE_THREAD_PROCESS = 3,
};
enum perfetto_tree_process {
	TREE_PROCESS_PID = 1,
	TREE_PROCESS_PARENT = 2,
	TREE_PROCESS_COMMAND = 3
};
enum perfetto_process {
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	PROCESS_START_NS = 7, /* of the trace's clock */
};
enum perfetto_thread { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };

enum perfetto_counter { COUNTER_UNIT = 3 };
enum perfetto_unit { UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum perfetto_trace_uuid { TRACE_UUID_MSB = 1, TRACE_UUID_LSB = 2 };
enum perfetto_system_info { SYSTEM_INFO_UTSNAME = 1 };
enum perfetto_utsname {
	UTSNAME_SYSTEM = 1,
	UTSNAME_VERSION = 2,
	UTSNAME_RELEASE = 3,
	UTSNAME_MACHINE = 4,
};

enum perfetto_event {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_DOUBLE_COUNTER = 44,
	EVENT_FLOWS = 47,	      /* fixed64 */
	EVENT_TERMINATING_FLOWS = 48, /* fixed64 */
	EVENT_GPU_CORRELATION = 3000,
};
enum perfetto_event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

/* Protobuf's descriptors: how a trace describes fields that Perfetto does not know. */
enum perfetto_extension_descriptor { EXTENSION_SET = 1 };
enum descriptor_set { SET_FILES = 1 };
enum descriptor_file {
	FILE_NAME = 1,
	FILE_PACKAGE = 2,
	FILE_MESSAGES = 4,
	FILE_ENUMS = 5,
	FILE_EXTENSIONS = 7,
};
enum descriptor_message { MESSAGE_NAME = 1, MESSAGE_FIELDS = 2 };
enum descriptor_field {
	FIELD_NAME = 1,
	FIELD_EXTENDEE = 2,
	FIELD_NUMBER = 3,
	FIELD_LABEL = 4,
	FIELD_TYPE = 5,
	FIELD_TYPE_NAME = 6,
};
enum descriptor_label { LABEL_OPTIONAL = 1 };
enum descriptor_type { TYPE_INT64 = 3, TYPE_MESSAGE = 11, TYPE_ENUM = 14 };
enum descriptor_enum { ENUM_NAME = 1, ENUM_VALUES = 2 };
enum descriptor_value { VALUE_NAME = 1, VALUE_NUMBER = 2 };

enum perfetto_render_stage {
	STAGE_EVENT_ID = 1,
	STAGE_DURATION = 2,
	STAGE_CONTEXT = 5,
	STAGE_SUBMISSION_ID = 10,
	STAGE_GPU = 11,
	STAGE_QUEUE_IID = 13,
	STAGE_NAME_IID = 14,
	STAGE_WAITS = 18,
	STAGE_KERNEL_IID = 19,
	STAGE_LAUNCH = 21,
};
enum perfetto_launch { LAUNCH_GRID = 1, LAUNCH_GROUP = 2 };
enum perfetto_dimensions { DIMENSION_X = 1 }; /* and 2, 3 */
enum perfetto_gpu_correlation { CORRELATION_SUBMITS = 1, CORRELATION_WAITS = 2 };
enum perfetto_stage_name { STAGE_CATEGORY = 4 }; /* beside iid and text */
enum perfetto_stage_category { STAGE_COMPUTE = 2 };
enum perfetto_compute_kernel { COMPUTE_ARCHITECTURE = 4, COMPUTE_ARGS = 5 };
enum perfetto_compute_arg { ARG_NAME_IID = 1, ARG_UINT = 4 };
enum perfetto_graphics_context { CONTEXT_PID = 2, CONTEXT_API = 3 };
enum perfetto_graphics_api { API_VULKAN = 2, API_OPENCL = 3, API_CUDA = 4, API_HIP = 5 };

enum perfetto_gpu_info { GPU_INFO_GPUS = 1 };
enum perfetto_gpu {
	GPU_NAME = 1,
	GPU_VENDOR = 2,
	GPU_MODEL = 3,
	GPU_ARCHITECTURE = 4,
	GPU_UUID = 5,
	GPU_PCI = 7,
};

enum perfetto_annotation {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_DICT = 11,
	ANNOTATION_ARRAY = 12,
	ANNOTATION_STRING_IID = 17,
};
