# SPDX-License-Identifier: Apache-2.0
"""What is downloaded for demo, tests and CI is pinned by its hash, but for Debian's own packages: a
registry that sends something else (here, one of our own: no network is needed) has nothing
installed, and is named. All that is locked has a hash, and no script fetches what is not locked."""
import base64
import contextlib
import hashlib
import http.server
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.parse

SOURCE = os.environ["BRICK_SOURCE"]
SCRIPTS = ("demo", "tests", "cmake", "bench", "examples", "packaging", ".ci", "Makefile", "CMakeLists.txt")
# What would fetch by name alone.
BY_NAME = [re.compile(p) for p in (
    r"\bnpm\s+(i|install|add|exec)\b", r"\bnpx\s", r"\bpip3?\s+(install|download)\b(?!.*--require-hashes)",
    r"\b(curl|wget)\s+(-\S+\s+)*['\"]?\$?\{?(https?|url)", r"git clone\b(?! -q \"\$bundle\")",
    r"\b(cargo|go|gem)\s+install\b", r"FetchContent_Declare|ExternalProject_Add|file\(DOWNLOAD")]


def expect(what, got, want=True):
    if got != want:
        sys.exit(f"{what}: got {got!r}, expected {want!r}")


def locked():
    """Each entry of each lock has a hash, and is what package.json asks for."""
    found = 0
    VERSIONS.clear()
    for base in ("src/ui/page", *(f"examples/demo/npm/{name}" for name in os.listdir(f"{SOURCE}/examples/demo/npm"))):
        lock = os.path.join(SOURCE, base, "package-lock.json")
        if not os.path.exists(lock):
            expect(f"{base} is a folder without a lock", os.path.isdir(os.path.join(SOURCE, base)), False)
            continue
        with open(lock, encoding="utf-8") as file:
            packages = json.load(file)["packages"]
        with open(os.path.join(SOURCE, base, "package.json"), encoding="utf-8") as file:
            wanted = json.load(file)
        for name, version in {**wanted.get("dependencies", {}), **wanted.get("devDependencies", {})}.items():
            # of an alias (npm:NAME@VERSION) the version is its end
            expect(f"{lock}: {name}", packages[f"node_modules/{name}"]["version"], version.rpartition("@")[2])
        for name, package in packages.items():
            if name:
                VERSIONS.setdefault(package.get("name", name.split("node_modules/")[-1]), set()).add(package["version"])
                expect(f"{lock}: {name}: {package.get('integrity')}",
                       bool(re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package.get("integrity", ""))))
                found += 1
    with open(f"{SOURCE}/examples/demo/npm/device-packages", encoding="utf-8") as file:
        for line in file:
            expect(f"device-packages: {line}",
                   bool(re.fullmatch(r"(vulkan|cuda) [0-9.]+ sha512-[A-Za-z0-9+/]{86}==\n", line)))
            found += 1
    expect("packages that are locked", found > 50)


def scripts():
    for base in SCRIPTS:
        top = os.path.join(SOURCE, base)
        for place, _, names in os.walk(top) if os.path.isdir(top) else [(SOURCE, [], [base])]:
            for name in names:
                path = os.path.join(place, name)
                if path == os.path.abspath(__file__) or not re.search(
                        r"\.(sh|py|cmake|mjs|yml)$|/run$|Makefile$|CMakeLists.txt$", path):
                    continue
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read().replace("\\\n", " ")
                for line in text.split("\n"):
                    bad = [p.pattern for p in BY_NAME if p.search(line) and not line.lstrip().startswith("#")]
                    expect(f"{path}: {line.strip()} fetches by name", bad, [])


class Registry(http.server.BaseHTTPRequestHandler):
    """Sends for each package that it is asked for one that is none of theirs."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = urllib.parse.unquote(self.path).split("?")[0]
        if path.endswith(".tgz"):
            body = tarball()
        else:
            name = path.strip("/")
            base = f"http://127.0.0.1:{self.server.server_port}"
            versions = {v: {"name": name, "version": v,
                            "dist": {"tarball": f"{base}/{name}/-/{v}.tgz", "integrity": hash_of(tarball())}}
                        for v in VERSIONS.get(name, {DEVICE})}
            body = json.dumps({"name": name, "versions": versions,
                               "dist-tags": {"latest": max(versions)}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)


def tarball():
    """A package of a library that is none."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT, compresslevel=0) as tar:
        for name, text in (("package.json", b'{"name": "p", "version": "1.0.0"}'),
                           ("bins/linux-x64-vulkan/libggml-vulkan.so", b"not a library")):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    data = out.getvalue()
    return data[:4] + bytes(4) + data[8:]  # without the time


def hash_of(data):
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


def run(tree, registry, *command):
    environment = dict(os.environ, npm_config_registry=f"http://127.0.0.1:{registry}/",
                       npm_config_cache=os.path.join(tree, "cache"), npm_config_fetch_retries="0",
                       npm_config_userconfig=os.path.join(tree, "npmrc"), npm_config_update_notifier="false")
    environment = {k: v for k, v in environment.items() if not k.lower().endswith("_proxy")}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=600)


def refused(tree, registry):
    run1 = run(tree, registry, "examples/demo/engine-device.sh", "vulkan")
    expect(f"engine-device.sh: {run1.stderr}", run1.returncode, 1)
    expect(run1.stderr, bool(re.search(r"engine-device.sh: what came as @node-llama-cpp/linux-x64-vulkan@\S+ "
                                       r"is not what examples/demo/npm/device-packages names", run1.stderr)))
    libraries = [name for _, _, names in os.walk(os.path.join(tree, "build")) for name in names
                 if name.endswith(".so")]
    expect("libraries that are there all the same", libraries, [])

    run2 = run(tree, registry, "examples/demo/engine.sh")
    expect(f"engine.sh: {run2.stderr}", run2.returncode, 1)
    expect(run2.stderr, "integrity checksum failed" in run2.stderr.lower())

    run3 = run(tree, registry, "examples/demo/engine-device.sh", "vulkan", "1.2.3")
    expect(f"a version without a hash: {run3.stderr}",
           (run3.returncode, "has no hash of vulkan 1.2.3" in run3.stderr), (1, True))


def taken(tree, registry):
    """With the hash of what the registry sends it is installed: the hash is what decides."""
    with open(os.path.join(tree, "examples/demo/npm/device-packages"), "w", encoding="utf-8") as file:
        file.write(f"vulkan {DEVICE} {hash_of(tarball())}\n")
    done = run(tree, registry, "examples/demo/engine-device.sh", "vulkan")
    expect(f"with the hash of what is sent: {done.stderr}", done.returncode, 0)
    expect("the library", os.path.exists(f"{tree}/build/demo/engine-vulkan/{DEVICE}/libggml-vulkan.so"))


def main():
    locked()
    scripts()
    if not shutil.which("npm") or platform.machine() != "x86_64":
        print("skipped: npm, or packages for this CPU, are missing")
        sys.exit(77)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "examples", "demo"))
        for name in ("engine.sh", "engine-device.sh"):
            shutil.copy(os.path.join(SOURCE, "examples", "demo", name), os.path.join(tree, "examples", "demo", name))
        shutil.copytree(os.path.join(SOURCE, "examples", "demo", "npm"), os.path.join(tree, "examples", "demo", "npm"))
        refused(tree, server.server_port)
        taken(tree, server.server_port)
    server.shutdown()


with open(os.path.join(SOURCE, "examples/demo/engine.sh"), encoding="utf-8") as file:
    DEVICE = re.search(r"^version=([0-9.]+)", file.read(), re.M)[1]  # of what it takes by default
VERSIONS = {}  # of each package that is locked
main()
