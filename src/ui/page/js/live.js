// SPDX-License-Identifier: Apache-2.0
// A served page asks its server for new numbers, more often while the recording is being written,
// and says whether it got them. The token in the page's address goes along in a header.
const EVERY_MS = 500, ENDED_EVERY_MS = 5000;

export function follow(page, status) {
	const token = new URLSearchParams(location.search).get("token");
	const headers = token ? { Authorization: `Bearer ${token}` } : {};
	let tag = null, paused = false;
	const ask = async () => {
		if (paused || document.hidden) return schedule();
		try {
			const answer = await fetch("data.json", { headers: tag ? { ...headers, "If-None-Match": tag } : headers, cache: "no-store" });
			if (answer.status === 200) {
				tag = answer.headers.get("ETag");
				page.update(await answer.json());
			} else if (answer.status !== 304) throw new Error(`the server says ${answer.status}`);
			status(page.data.live ? "Live" : "Ended", true);
		} catch (error) {
			status(`Not connected: ${error.message}`, false);
		}
		schedule();
	};
	const schedule = () => setTimeout(ask, page.data.live ? EVERY_MS : ENDED_EVERY_MS);
	schedule();
	return { pause: value => { paused = value; } };
}
