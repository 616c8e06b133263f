// SPDX-License-Identifier: Apache-2.0
// The little box beside the pointer or the focus. Screen readers get the same text from the element.
import { h, fill } from "./dom.js";

const box = h("div", { class: "tip", "aria-hidden": "true", hidden: true });

export function showTip(x, y, lines) {
	if (!box.isConnected) document.body.append(box);
	fill(box, lines.map((line, i) => h(i ? "div" : "strong", null, line)));
	box.hidden = false;
	const { width, height } = box.getBoundingClientRect();
	const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
	box.style.left = `${Math.max(4, left)}px`;
	box.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}

export function hideTip() {
	box.hidden = true;
}

export function tipOver(event, lines) {
	showTip(event.clientX, event.clientY, lines);
}

export function tipAt(element, lines) {
	const area = element.getBoundingClientRect();
	showTip(area.left + Math.min(area.width, 200), area.bottom - 8, lines);
}
