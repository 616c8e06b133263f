// SPDX-License-Identifier: Apache-2.0
// The kinds of steps, as they are keyed in the page's numbers, in the order in which they are shown.
export const PHASES = [["decode", "Decode"], ["mixed", "Mixed"], ["prefill", "Prefill"], ["other", "Steps"], ["warm_up", "Warm-up"]];

// Before "steps": steps of no known phase are just steps.
export const phaseAdjective = name => (name === "other" ? "" : `${phaseLabel(name)} `);

export const phaseLabel = name => PHASES.find(([key]) => key === name)?.[1] ?? name;

// The keys of a chosen phase; of "all" every phase, and time outside of steps if `outside` is true.
export const keysOf = (chosen, outside = false) => (
	chosen === "all" ? [...PHASES.map(([key]) => key), ...(outside ? ["outside"] : [])] : [chosen]);
