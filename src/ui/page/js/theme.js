// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the system wishes, or as the button says, which is remembered where the
// browser allows it.
import { h } from "./dom.js";

const KEY = "brick-theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const LABEL = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function remembered() {
	try {
		const theme = localStorage.getItem(KEY);
		return theme in NEXT ? theme : "auto";
	} catch {
		return "auto";
	}
}

function apply(theme, button) {
	if (theme === "auto") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = theme;
	button.textContent = LABEL[theme];
	button.dataset.theme = theme;
}

// changed: is called when the reader has chosen.
export function themeButton(changed) {
	const button = h("button", { type: "button", id: "theme", class: "plain" });
	let theme = remembered();
	apply(theme, button);
	button.addEventListener("click", () => {
		theme = NEXT[theme];
		apply(theme, button);
		changed();
		try {
			localStorage.setItem(KEY, theme);
		} catch { /* a page from a file may have no storage */ }
	});
	return button;
}
