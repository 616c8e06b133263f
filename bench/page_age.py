# SPDX-License-Identifier: Apache-2.0
"""How old are the numbers that the page of `brick serve` and `brick top` show of a running recording.

The real engine is recorded, and a page in Chromium and `brick top --headless` look at it. Four times a second the bench
notes the number of decode steps that each shows. The finished recording says when that step had ended; the difference is
the age. The bench also prints the longest time for which each showed the same number although a step had ended.
`bench/page_age.py [SECONDS [THREADS]]`
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get("BRICK_BUILD", "build")
BRICK = f"{BUILD}/bin/brick"
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 60
THREADS = sys.argv[2] if len(sys.argv) > 2 else "1"
LOOK = """
const { chromium } = require(process.argv[2] + "/playwright-core");
(async () => {
	const browser = await chromium.launch({ executablePath: process.argv[3], args: ["--no-sandbox", "--disable-gpu"] });
	const page = await browser.newPage();
	await page.goto(process.argv[4]);
	await page.waitForSelector("html[data-ready]");
	for (;;) {
		console.log(await page.locator("#summary").innerText().then(text => JSON.stringify(text)));
		await new Promise(resolve => setTimeout(resolve, 250));
	}
})();
"""


class Shown:
    """What a view shows, and since when: (unix time in s, decode steps)."""

    def __init__(self, process, steps_of):
        self.process, self.steps, self.ticks = process, None, []
        threading.Thread(target=self.read, args=(steps_of,), daemon=True).start()

    def read(self, steps_of):
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # it was ended
            self.steps = steps_of(line) or self.steps

    def tick(self):
        if self.steps:
            self.ticks.append((time.time(), self.steps))

    def end(self):
        self.process.kill()
        self.process.wait()


def of_page(line):
    found = re.search(r"Decode.*?in (\d+) steps", json.loads(line), re.S)
    return int(found[1]) if found else None


def of_top(line):
    exact = json.loads(line)["exact"]
    return exact["decode"]["count"] if exact else None


def steps_ended(path):
    """When decode steps ended, in s of unix time."""
    report = json.loads(subprocess.run([BRICK, "report", "--by", "step", "--json", path], check=True, capture_output=True).stdout)
    start = float(subprocess.run(["date", "-d", report["run"]["start"], "+%s.%N"], check=True, capture_output=True).stdout)
    return sorted(start + (row["step_begin_ns"] + row["step_ns"]) / 1e9 for row in report["each_step"]
                  if row["name"].startswith("decode"))


def ages(name, shown, ends):
    found = sorted(at - ends[min(steps, len(ends)) - 1] for at, steps in shown.ticks)
    stood, since = 0, None
    for i, (at, steps) in enumerate(shown.ticks):
        since = at if not i or steps != shown.ticks[i - 1][1] else since
        stood = max(stood, at - since)
    at = lambda part: found[int(part * (len(found) - 1))]
    print(f"{name:5} {len(found):4} looks, {len({s for _, s in shown.ticks}):3} numbers: age {at(0.5):.2f} s in the middle, p95 {at(0.95):.2f} s, "
          f"at most {found[-1]:.2f} s; stood still for {stood:.2f} s at most", flush=True)


def main():
    room = tempfile.mkdtemp(prefix="brick-age-")
    path = os.path.join(room, "run.pftrace")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    engine = subprocess.Popen([BRICK, "record", "-q", "--no-history", "-o", path, "--", f"{BUILD}/bin/brick-llama", "--libs",
                               f"{BUILD}/demo/engine/libs", "--model", f"{BUILD}/demo/model-f16.gguf", "--prompt-tokens", "64",
                               "--predict", "64", "--threads", THREADS, "--repeat", "100000"], **quiet)
    time.sleep(2)
    serve = subprocess.Popen([BRICK, "serve", "--port", "0", path], stdout=subprocess.PIPE, text=True)
    url = next(line.split()[1] for line in serve.stdout if " page " in line)
    with open(os.path.join(room, "look.cjs"), "w") as file:
        file.write(LOOK)
    views = {"page": Shown(subprocess.Popen([shutil.which("node"), file.name, os.path.abspath(f"{BUILD}/html/node_modules"),
                                             shutil.which("chromium"), url], stdout=subprocess.PIPE, text=True), of_page),
             "top": Shown(subprocess.Popen([BRICK, "top", "--headless", "--json", str(engine.pid)], stdout=subprocess.PIPE, text=True), of_top)}
    time.sleep(5)  # Chromium starts
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        time.sleep(0.25)
        for view in views.values():
            view.tick()
    for view in views.values():
        view.end()
    os.kill(int(subprocess.run(["pgrep", "-P", str(engine.pid)], check=True, capture_output=True).stdout.split()[0]), signal.SIGTERM)
    engine.wait()
    serve.kill()
    ends = steps_ended(path)
    load = open("/proc/loadavg").read().split()[0]
    print(f"{THREADS} thread(s) of the engine, {SECONDS:.0f} s, load {load}, {len(ends)} decode steps, {os.path.getsize(path) / 1e6:.1f} MB")
    for name, view in views.items():
        ages(name, view, ends)
    shutil.rmtree(room)


main()
