// SPDX-License-Identifier: Apache-2.0
// Numbers that src/ui/page/pack.c packed: LEB128 in base64. Up to 2^53 they are exact.
export function unpack(text) {
	const bytes = atob(text ?? "");
	const values = new Float64Array(bytes.length);
	let count = 0, value = 0, scale = 1;
	for (let i = 0; i < bytes.length; i++) {
		const byte = bytes.charCodeAt(i);
		value += (byte & 0x7f) * scale;
		scale *= 128;
		if (byte > 0x7f) continue;
		values[count++] = value;
		value = 0;
		scale = 1;
	}
	return values.slice(0, count);
}
