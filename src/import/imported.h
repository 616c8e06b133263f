/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another tool's file says, on its way into a recording: processes, tracks (threads, queues of
 * devices), and events with a begin and an end on them. A reader calls imported_init(), sets the
 * members from queues_are_threads on that it knows, and adds the rest by the functions below; then
 * imported_write() makes a recording. Names become bricks by rules (attach/rules/), else bricks of
 * their own name. Events of a track may come in any order and may cross: a thread stays one lane,
 * on which the less important of two crossing events is cut. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/rules/rules.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/hashmap.h"
#include "brick/abi/session.h"
#include "lib/writer/writer.h"

enum {
	IMPORT_NO_LAYER = -1,	 /* as a layer: none, or not known */
	IMPORT_PARTS = 1000,	 /* of the work, in about equal time */
	IMPORT_PARTS_READ = 700, /* of these for reading; the rest is for writing */
};

struct imported_process {
	uint32_t pid;
	char name[64];
};

struct imported_track {
	/* Index in `processes`. UINT64_MAX: a queue whose process follows from launches only. */
	uint64_t process;
	uint64_t tid; /* of a queue: its stream */
	bool is_queue;
	bool has_process;     /* the file says the process */
	bool is_asynchronous; /* its spans are no thread's, and may overlap */
	bool is_unseen;	      /* the host of a file that has commands only; it holds the step */
	uint32_t device;      /* of a queue */
	char name[BRICK_NAME_BYTES];
};

/* How a text becomes a brick. */
enum import_naming {
	IMPORT_ANNOTATION, /* rules for annotations; numbers in it are no part of the name */
	IMPORT_OPERATOR,   /* rules for PyTorch's operators */
	IMPORT_NODE,	   /* of a graph: `operation` is its operator, `name` its path */
	IMPORT_KERNEL,	   /* of a device, if nothing is known of who launched it */
	IMPORT_PYTHON,	   /* a frame of Python, or of a module of PyTorch */
	IMPORT_BRICK,	   /* `name` is a brick's already, and `operation` its category's */
};

/*
 * A name, and all that decides what it becomes. Texts are not NULL, but for the last two. A new
 * member goes into imported_key_of(), too.
 */
struct import_text {
	enum import_naming naming;
	const char *operation, *name; /* operation "": none */
	/* The rest is of IMPORT_BRICK, `label` of IMPORT_OPERATOR, too: its shapes; 0 with others.
	 */
	int layer;
	uint32_t flags;
	uint64_t elements, bytes, flops;
	const char *site_operation, *label; /* NULL: not known */
};

/* A file has millions of them: 48 bytes. */
struct imported_event {
	uint64_t begin, end; /* ns in the file's own clock, less than 2^63 */
	union {
		uint64_t bytes;	 /* that a command moved; 0: not known */
		uint64_t tokens; /* of a step, as in its record; 0: as its name says */
	};
	/*
	 * Any number that a command and the call that launched it share; 0: none. imported_write()
	 * makes it the call's index in `launched`, + 1; 0: there is no such call.
	 */
	uint64_t link;
	uint32_t number;      /* of a command, from 1; of a wait: the command that it waited for */
	uint32_t track, name; /* indices, as imported_thread() and imported_name() return them */
	uint16_t kernel;  /* of a command, or of its call in a capture: index in `kernels`; 0: none,
			     or there was no room */
	bool is_open : 1; /* the file does not say when it ended */
	bool is_command : 1;
	bool has_brick : 1; /* `name` is the command's brick, whatever launched the command */
};

/* What the file says of a device. */
struct imported_device {
	uint32_t device;
	char name[80];	       /* "Example GPU 9000, 10 SMs" */
	uint64_t memory_bytes; /* that it has; 0: not known */
	uint64_t peak_bytes;   /* the most that the program had allocated; 0: not known */
};

/* The name of a process or a thread. The file may have no events of it. */
struct imported_said {
	uint32_t pid;
	uint64_t tid; /* of a thread */
	bool is_process;
	char text[64];
};

/* The brick, and what else a name became. */
struct imported_name {
	uint64_t tokens; /* of a step, as in its record; 0: not known */
	uint32_t site;	 /* index in `sites`; 0: none */
	uint16_t brick;
	int16_t layer;
	bool is_known;	/* a rule says what it is */
	bool is_engine; /* a phase around work, or a wait: a kernel's own name tells more */
	bool is_python;
	bool has_own_layer; /* the file says the layer: -1 then means in no layer, not unknown */
};

/* A call that launched commands; made by imported_write(). */
struct import_launch {
	uint64_t begin;	  /* ns in the file's clock */
	uint32_t ticks;	  /* its length, ns */
	uint32_t lane;	  /* in its process, + 1; 0: the call was not met yet */
	uint32_t process; /* index in `processes` */
	uint32_t track;	  /* its thread's: index in `tracks` */
	/*
	 * Names, + 1, of the innermost event around the call, and of one around the call, this or
	 * further out, that a rule knows; 0: none.
	 */
	uint32_t inner, outer;
	uint32_t command, commands; /* number of its first command; how many it has */
	int16_t layer;		    /* in which it lies; valid with `inner` */
};

struct imported {
	ARRAY(struct imported_process) processes;
	ARRAY(struct imported_track) tracks;
	ARRAY(struct imported_event) events;
	ARRAY(struct imported_name) names;
	ARRAY(struct imported_key {
		char *bytes;
		size_t count;
	})
	keys;		 /* by name: all of its text */
	ARRAY(char) key; /* of the text that is being looked for */
	ARRAY(struct brick_session_kernel) kernels;
	ARRAY(struct imported_said) said;
	struct hash_index name_index, track_index, kernel_index, process_index;
	struct hashmap layer_sites; /* by site and layer: index in `sites` */
	ARRAY(struct import_launch) launched;
	struct rules *annotations, *operators, *files;

	struct brick_session_brick bricks[BRICK_MAX_BRICKS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	uint32_t brick_count, category_count;
	struct hash_index brick_index; /* by name */
	struct hash_index_slot brick_slots[2 * BRICK_MAX_BRICKS];
	ARRAY(struct brick_session_site) sites;

	bool is_capture;	 /* calls that launch keep their kernel (imported_event.kernel) */
	bool queues_are_threads; /* the file calls queues by the numbers of threads */
	const char *tool;	 /* the tool that wrote the file; not owned */
	const char *steps; /* pattern of the names of steps, not owned; NULL: only rules tell */
	/* The recording's note on steps that the file does not name; "": it names them. */
	char about_steps[128];
	ARRAY(struct imported_device) devices;
	struct hashmap device_of; /* by its number: index in `devices` */
	char host[64];
	int32_t rank, world;	/* of its processes; world 0: not known */
	ARRAY(char *) command;	/* words of the program's command, and NULL; empty: not known */
	uint64_t begin;		/* of the recording, in the file's clock; 0: the first event's */
	uint64_t start_unix_ns; /* 0: not known */
	uint64_t left_out;	/* events that a recording has no place for */
	uint64_t unmatched;	/* ends without a begin */
	uint64_t crowded;	/* events for which there was no lane */
	uint64_t unnamed;	/* names for which there was no brick left */
	/* Parts of the work that are done, of IMPORT_PARTS; any thread may read it. */
	_Atomic uint32_t parts_done;
	/* Counted by imported_write(): */
	uint64_t slices, commands;
	uint32_t threads, queues;
};

/* 0 or -ENOMEM; call imported_fini() in both cases. */
int imported_init(struct imported *imported);
void imported_fini(struct imported *imported);

/* These return an index in processes, tracks, names or kernels, or -ENOMEM. Equal ones are one. */
int imported_process(struct imported *imported, uint32_t pid);
int imported_thread(struct imported *imported, uint32_t pid, uint64_t tid);
/* pid: valid with has_process, if the file says whose the queue is. */
int imported_queue(struct imported *imported, uint32_t pid, bool has_process, uint32_t device,
	uint64_t stream);
/* The process's track for spans that are no thread's, and may overlap. */
int imported_asynchronous(struct imported *imported, uint32_t pid);
/* A kernel for spans that run on the host. As imported_kernel(). */
int imported_host_kernel(struct imported *imported, const char *name);
int imported_name(struct imported *imported, const struct import_text *text);
/* Clears the kernel, and sets its kind (enum brick_kernel_kind), backend and name. */
void imported_kernel_init(
	struct brick_session_kernel *kernel, uint32_t kind, const char *backend, const char *name);
/* All bytes of the kernel count, so unused ones must be 0. Index 0: there was no room. */
int imported_kernel(struct imported *imported, const struct brick_session_kernel *kernel);

/* 0 or -ENOMEM. The event is copied. */
int imported_add(struct imported *imported, const struct imported_event *event);
/* 0 or -ENOMEM. processors and memory_bytes: 0: not known. */
int imported_say_device(struct imported *imported, uint32_t device, const char *name,
	uint64_t processors, uint64_t memory_bytes);
/* The program has so many bytes of a device allocated now. 0 or -ENOMEM. */
int imported_say_allocated(struct imported *imported, uint32_t device, uint64_t bytes);
/* The copy of `site` that is in the layer; `site` itself if there is no room for a copy. */
uint32_t imported_site_in_layer(struct imported *imported, uint32_t site, int16_t layer);
/* Copies a name to `size` bytes. One that is too long keeps both ends, and a hash of it all
 * between. */
void imported_fit(char *to, size_t size, const char *name);
/* Appends a word to the program's command. 0 or -ENOMEM. */
int imported_command_add(struct imported *imported, const char *word);
/* Names a process or thread, which may come later, or never. 0 or -ENOMEM. */
int imported_say_process(struct imported *imported, uint32_t pid, const char *name);
int imported_say_thread(struct imported *imported, uint32_t pid, uint64_t tid, const char *name);

/*
 * Makes a recording, and changes events and names on the way: call it once. 0, or the writer's
 * error; BRICK_ENOTRECORDED: there is no event.
 */
int imported_write(struct imported *imported, struct trace_writer_options *options);

/* The rules' texts, compiled in. */
extern const char rule_set_import_annotations_text[], rule_set_import_torch_text[],
	rule_set_import_files_text[];
extern const size_t rule_set_import_annotations_bytes, rule_set_import_torch_bytes,
	rule_set_import_files_bytes;
