/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of the interpreter's structures differ by version, and none is a part of its interface. A
 * version whose layout is listed is proved by the frame that runs; a version that is not, is
 * refused by name. A thread that is within an operator changes no frame of its own, and its frames
 * hold their code objects, whose texts never change.
 */
#include "attach/torch/torch_frames.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "base/hash.h"
#include "base/path_name.h"
#include "base/utf8.h"
#include "brick/abi/thread.h"
#include "brick/brick.h"
#include "brick/clock.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"

enum { FRAMES = 64, FUNCTIONS = 512, NAME_BYTES = 48, PLACE_BYTES = 30 };

bool torch_frames_known, torch_frames_unproved;

/* Bytes from the begin of a structure; of a text: to its letters. */
struct frames_layout {
	const char *version;
	uint8_t state_frame; /* of the thread's state; of its C frame if `is_indirect` */
	bool is_indirect;    /* the C frame has the frame, at c_frame */
	uint8_t c_frame;
	uint8_t code, previous, owner; /* of a frame */
	uint8_t file, name, line;      /* of a code object */
	uint8_t letters, wide_letters; /* wide: of a text that is not ASCII */
};

/* Of a text's state: the bit where the bytes of a letter begin, and flags. */
enum { TEXT_KIND = 2, TEXT_COMPACT = 1 << 5, TEXT_ASCII = 1 << 6 };

enum { OWNER_C_STACK = 3, TEXT_LENGTH = 16, TEXT_STATE = 32, OBJECT_TYPE = 8 };

static const struct frames_layout frames_layouts[] = {
	{"3.11.", 56, true, 8, 32, 48, 69, 112, 128, 72, 48, 72},
	{"3.12.", 56, true, 0, 0, 8, 70, 112, 128, 68, 40, 56},
	{"3.13.", 72, false, 0, 0, 8, 70, 112, 128, 68, 40, 56},
	{"3.14.", 72, false, 0, 0, 8, 74, 112, 128, 68, 40, 56},
};

static const struct frames_layout *frames_layout;
static void *(*frames_thread_state)(void);
static const void *frames_code_type;

static const void *frames_pointer(const void *from, size_t at)
{
	const void *pointer;

	memcpy(&pointer, (const char *)from + at, sizeof(pointer));
	return pointer;
}

/* The innermost frame of the calling thread; NULL: it runs no Python. */
static const char *frames_innermost(void)
{
	const struct frames_layout *l = frames_layout;
	const void *state = frames_thread_state();
	const void *at = state ? frames_pointer(state, l->state_frame) : NULL;

	return at && l->is_indirect ? frames_pointer(at, l->c_frame) : at;
}

/* NULL: the frame is the interpreter's own. */
static const char *frames_code(const char *frame)
{
	const struct frames_layout *l = frames_layout;
	uintptr_t word =
		frame[l->owner] == OWNER_C_STACK ? 0 : (uintptr_t)frames_pointer(frame, l->code);
	/* since 3.14 the lowest bits say whether the frame has a reference */
	const void *code = (const void *)(word & ~(uintptr_t)7);

	return code && frames_pointer(code, OBJECT_TYPE) == frames_code_type ? code : NULL;
}

/* The letter at a place of a text whose letters have 1, 2 or 4 bytes; '?' for a control character,
 * and for a surrogate, which UTF-8 cannot have. */
static uint32_t frames_letter(const char *letters, unsigned width, size_t at)
{
	uint32_t letter = 0;

	memcpy(&letter, letters + at * width, width); /* x86-64 */
	return letter < ' ' || (letter >= 127 && letter < 160) || letter > 0x10ffff ||
			       (letter >= 0xd800 && letter < 0xe000)
		       ? '?'
		       : letter;
}

static unsigned frames_letter_bytes(uint32_t letter)
{
	return letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
}

/* The end of a text of code, in UTF-8; "?" if its letters lie elsewhere, as those of a subclass. */
static void frames_text(const char *code, size_t at, char *text, size_t bytes)
{
	const char *object = frames_pointer(code, at);
	uint32_t state;

	memcpy(&state, object + TEXT_STATE, sizeof(state));
	unsigned width = state >> TEXT_KIND & 7;
	bool is_ascii = state & TEXT_ASCII;
	if (!(state & TEXT_COMPACT) || (width != 1 && width != 2 && width != 4)) {
		snprintf(text, bytes, "?");
		return;
	}
	const char *letters =
		object + (is_ascii ? frames_layout->letters : frames_layout->wide_letters);
	size_t count = (size_t)frames_pointer(object, TEXT_LENGTH), first = count, n = 0;
	for (size_t used = 0; first; first--) {
		used += frames_letter_bytes(frames_letter(letters, width, first - 1));
		if (used >= bytes)
			break;
	}
	for (; first < count; first++) {
		uint32_t letter = frames_letter(letters, width, first);
		unsigned more = frames_letter_bytes(letter) - 1;
		text[n++] = (char)(more ? (0x1f80 >> more & 0xff) | letter >> 6 * more : letter);
		while (more--)
			text[n++] = (char)(0x80 | (letter >> 6 * more & 0x3f));
	}
	text[n] = '\0';
}

static int frames_line(const char *code)
{
	int32_t line;

	memcpy(&line, code + frames_layout->line, sizeof(line));
	return line;
}

/*
 * ---- functions ----
 */

struct torch_function {
	const void *code, *name; /* both, as an address may be used again */
	int layer;
	uint32_t site, brick;
	bool is_own; /* PyTorch's */
};

/* "Model.forward (FILE:178)": the end of the name, if it is long. */
static void frames_describe(struct torch_function *function, const char *code)
{
	static int category;
	char file[512], name[256], place[PLACE_BYTES], whole[NAME_BYTES], label[560];
	int line = frames_line(code);

	frames_text(code, frames_layout->file, file, sizeof(file));
	frames_text(code, frames_layout->name, name, sizeof(name));
	function->is_own = strstr(file, "-packages/torch/") != NULL;
	if (function->is_own)
		return;
	snprintf(place, sizeof(place), "%.*s:%d", (int)utf8_cut(path_name(file), PLACE_BYTES - 10),
		path_name(file), line % 10000000);
	size_t room = sizeof(whole) - strlen(place) - sizeof(" ()"), length = strlen(name);
	const char *end = name + (length > room ? length - room : 0);
	while ((*end & 0xc0) == 0x80) /* within a letter */
		end++;
	snprintf(whole, sizeof(whole), "%.*s (%s)", (int)room, end, place);
	snprintf(label, sizeof(label), "%s:%d", file, line);
	if (category <= 0)
		category = brick_category_register("Python");
	int brick =
		brick_register(whole, category > 0 ? (uint32_t)category : BRICK_CATEGORY_ENGINE);
	if (brick <= 0)
		return;
	int site = brick_site_register(&(struct brick_site){.size = sizeof(struct brick_site),
		.brick = (uint32_t)brick,
		.layer = function->layer,
		.operation = name,
		.label = label});
	function->brick = (uint32_t)brick;
	function->site = site > 0 ? (uint32_t)site : 0;
}

static const struct torch_function *frames_function(
	struct torch_thread *t, const char *code, int layer)
{
	uint64_t hash = ((uintptr_t)code / 16 + (uint64_t)(layer + 1)) * HASH_GOLDEN;
	struct torch_function *kept = &t->more->functions[(hash >> 40) & (FUNCTIONS - 1)];
	const void *name = frames_pointer(code, frames_layout->name);

	if (kept->code != code || kept->name != name || kept->layer != layer) {
		*kept = (struct torch_function){.code = code, .name = name, .layer = layer};
		frames_describe(kept, code);
	}
	return kept;
}

/* The innermost function that is not PyTorch's own; NULL: there is none. */
static const struct torch_function *frames_find(struct torch_thread *t, int layer)
{
	const char *frame = frames_innermost();

	for (int i = 0; i < FRAMES && frame; i++) {
		const char *code = frames_code(frame);
		const struct torch_function *function =
			code ? frames_function(t, code, layer) : NULL;
		if (function && !function->is_own)
			return function->brick ? function : NULL;
		frame = frames_pointer(frame, frames_layout->previous);
	}
	return NULL;
}

/*
 * ---- times ----
 */

void torch_frames_leave(struct torch_thread *t)
{
	const struct brick_lane *lane = brick__thread.lane;

	if (!t->more->functions)
		t->more->functions = calloc(FUNCTIONS, sizeof(*t->more->functions));
	t->more->python = (struct torch_gap){0, 0, 0};
	if (t->more->functions && lane && brick_lane_open(lane) && !t->node)
		t->more->python =
			(struct torch_gap){brick_ticks(), lane->head, brick_lane_open(lane)};
}

/* Nothing is told if other records or bricks came between. */
void torch_frames_tell(struct torch_thread *t, int layer)
{
	const struct torch_gap gap = t->more->python;
	const struct brick_lane *lane = brick__thread.lane;

	t->more->python.begin = 0;
	if (!gap.begin || !lane || lane->head != gap.head || brick_lane_open(lane) != gap.open)
		return;
	const struct torch_function *function = frames_find(t, layer);
	if (function)
		brick_record_sample(&(struct brick_sample){.begin = gap.begin,
			.end = brick_ticks(),
			.site = function->site,
			.brick = function->brick,
			.layer = layer,
			.source = BRICK_SOURCE_CALLBACK});
}

/*
 * ---- the proof ----
 */

static bool frames_says(python_object *code, const char *name, const char *text)
{
	python_object *value = python_attribute(code, name);
	const char *letters = value ? py.Unicode_AsUTF8(value) : NULL;
	size_t length = letters ? strlen(letters) : 0, cut = strlen(text);
	bool is_same = letters && length >= cut && !strcmp(letters + length - cut, text);

	py.Err_Clear();
	python_drop(value);
	return is_same && cut;
}

/* False: what is read of the frame that runs is not what Python says. */
static bool frames_hold(void)
{
	const char *frame = frames_innermost(), *code = frame ? frames_code(frame) : NULL;
	python_object *object = py.frame ? py.frame() : NULL;
	python_object *real = object ? py.frame_code(object) : NULL;
	char file[512], name[256];
	bool holds = false;

	if (real && (const void *)real == (const void *)code) {
		frames_text(code, frames_layout->file, file, sizeof(file));
		frames_text(code, frames_layout->name, name, sizeof(name));
		python_object *line = python_attribute(real, "co_firstlineno");
		holds = frames_says(real, "co_filename", file) &&
			frames_says(real, "co_qualname", name) &&
			python_number(line) == frames_line(code);
		python_drop(line);
	}
	python_drop(real);
	return holds;
}

void torch_frames_prove(void)
{
	const char *wanted = brick__environment("BRICK_PYTHON_FRAMES");
	const char *(*version_of)(void);
	const char *version = "";

	torch_frames_unproved = false;
	if (!wanted || !*wanted) { /* an earlier recorder may have wanted them */
		__atomic_store_n(&torch_frames_known, false, __ATOMIC_RELEASE);
		return;
	}
	if (torch_frames_known)
		return;
	if (py.frame && !py.frame()) { /* a thread of ours, which runs no Python */
		torch_frames_unproved = true;
		return;
	}
	if (sys_function_find(RTLD_DEFAULT, "Py_GetVersion", &version_of))
		version = version_of();
	for (size_t i = 0; i < sizeof(frames_layouts) / sizeof(*frames_layouts); i++)
		if (!strncmp(version, frames_layouts[i].version, 5))
			frames_layout = &frames_layouts[i];
	if (!frames_layout) {
		note_once("python.frames", "not read: no layout is known of Python %.*s",
			(int)strcspn(version, " "), version);
	} else if (!sys_function_find(
			   RTLD_DEFAULT, "PyGILState_GetThisThreadState", &frames_thread_state) ||
		   !(frames_code_type = dlsym(RTLD_DEFAULT, "PyCode_Type")) || !frames_hold()) {
		note_once("python.frames",
			"not read: this Python %.*s has another layout than its version",
			(int)strcspn(version, " "), version);
	} else {
		__atomic_store_n(&torch_frames_known, true, __ATOMIC_RELEASE);
	}
}
