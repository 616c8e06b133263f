// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as src/ui/text/text.c writes them: three significant digits and a unit. An unknown
// value (null) is shown as "-", never as 0.

export const UNKNOWN = "-";

const decimals = value => (value < 9.995 ? 2 : value < 99.95 ? 1 : 0);

function scaled(value, units) {
	let unit = 0;
	while (unit + 1 < units.length && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	return value.toFixed(decimals(value)) + units[unit];
}

const known = value => value !== null && value !== undefined && Number.isFinite(value);

export function time(ns) {
	if (!known(ns)) return UNKNOWN;
	if (!ns) return "0";
	if (ns < 1000) return `${Number.isInteger(ns) ? ns : ns.toFixed(decimals(ns))}ns`;
	return scaled(ns / 1000, ["µs", "ms", "s"]);
}

// A time with an estimate in it is marked.
export const estimate = (ns, isEstimated) => (isEstimated && known(ns) && ns ? `~${time(ns)}` : time(ns));

// A difference of times.
export const signed = ns => (known(ns) ? `${ns > 0 ? "+" : ns < 0 ? "−" : ""}${time(Math.round(Math.abs(ns)))}` : UNKNOWN);

export function count(n) {
	if (!known(n)) return UNKNOWN;
	return n < 100000 ? String(n) : scaled(n / 1000, ["k", "M", "G", "T", "P"]);
}

export function bytes(n) {
	if (!known(n)) return UNKNOWN;
	return n < 1000 ? `${n}B` : scaled(n / 1000, ["kB", "MB", "GB", "TB", "PB"]);
}

export function number(value) {
	if (!known(value) || value < 0) return UNKNOWN;
	if (value > 0 && value < 0.0005) return "<0.001";
	return value.toFixed(value > 0 && value < 0.0995 ? 3 : decimals(value));
}

export function percent(share) {
	if (!known(share)) return UNKNOWN;
	const value = 100 * share;
	if (value > 0 && value < 0.05) return "<0.1%";
	return value >= 99.95 && value < 100 ? ">99.9%" : `${value.toFixed(1)}%`;
}

// Small values such as distortion: two digits behind the point.
export const fine = share => (known(share) ? `${(100 * share).toFixed(2)}%` : UNKNOWN);

export const giga = perSecond => (known(perSecond) ? number(perSecond / 1e9) : UNKNOWN);

export const tokensPerSecond = rate => (known(rate) ? `${number(rate)} tokens/s` : UNKNOWN);

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
