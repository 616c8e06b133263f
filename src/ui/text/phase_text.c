/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/text/phase_text.h"

static const struct {
	const char *title, *label, *whole, *adjective;
} phase_texts[STEP_PHASES + 1] = {
	[STEP_PREFILL] = {"Prefill", "prefill", "prefill", "prefill "},
	[STEP_DECODE] = {"Decode", "decode", "decode", "decode "},
	[STEP_MIXED] = {"Mixed", "mixed", "mixed", "mixed "},
	[STEP_WARM_UP] = {"Warm-up", "warm-up", "warm-up", "warm-up "},
	[STEP_OTHER] = {"Steps", "steps", "the steps", ""},
	[STEP_PHASES] = {"Run", "", "", ""},
};

static int phase_text_of(int phase)
{
	return phase >= 0 && phase < STEP_PHASES ? phase : STEP_PHASES;
}

const char *phase_title(int phase)
{
	return phase_texts[phase_text_of(phase)].title;
}

const char *phase_label(int phase)
{
	return phase_texts[phase_text_of(phase)].label;
}

const char *phase_whole(int phase)
{
	return phase_texts[phase_text_of(phase)].whole;
}

const char *phase_adjective(int phase)
{
	return phase_texts[phase_text_of(phase)].adjective;
}

const char *phase_unit(int phase)
{
	return phase == STEP_OTHER ? "step" : "token";
}
