/* SPDX-License-Identifier: Apache-2.0 */
/* What a mark of a recording says: the numbers that stand in the file. Header only. */
#pragma once

enum mark_kind {
	MARK_TEXT = 0, /* what somebody wrote (brick mark) */
	MARK_ON = 1,   /* recording goes on from here */
	MARK_OFF = 2,  /* recording is switched off from here */
	MARK_PART = 3, /* the file begins here; the recording, and its statistics, began earlier */
	MARK_NEXT = 4, /* the file ends here, and the recording goes on in the next one */
	/* the file is what was kept around a step that begins here; the text says why: "slow step",
	   or "lost records", which are in no step */
	MARK_EXEMPLAR = 5,
	MARK_KINDS
};
