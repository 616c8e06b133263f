#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs a real inference engine for the demo and the tests to profile: llama.cpp's libraries,
# unmodified, as npm ships them inside node-llama-cpp, and a Node.js that can drive them. Only the
# Debian and npm package clients are used, with whatever registries they are configured for.
#
#   usage: engine.sh [DIR]          DIR defaults to build/demo/engine
#
# Afterwards DIR/libs is the folder with libllama*.so, libggml*.so and llama-addon.node, DIR/node
# the Node.js to use, and DIR/node_modules what generate.mjs imports. Prints the folder with the
# libraries, alone, on stdout. A second run finds DIR/.complete and returns at once. Two runs at a
# time wait for each other.

set -eu

version=3.22.1		# of node-llama-cpp and of its package with the libraries, as in examples/demo/npm/
node_version=22.23.3	# as there; fetched only where the system's Node.js is older than node_major
node_major=20

fail()
{
	echo "engine.sh: $1" >&2
	exit 1
}

note()
{
	echo "engine.sh: $*" >&2
}

# The line of the log that says what went wrong: npm's first sentence, else the last line.
log_reason()
{
	why=$(grep -i '^npm err' "$log" | grep -v -e ' code ' -e ' errno ' -e ' syscall ' |
		cut -d ' ' -f 3- | head -n 1)
	[ -n "$why" ] || why=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1)
	echo "${why:-no output}"
}

# run_logged WHAT COMMAND...
run_logged()
{
	what=$1
	shift
	"$@" >>"$log" 2>&1 || fail "$what: $(log_reason) (log: $log)"
}

case $(uname -s)-$(uname -m) in
Linux-x86_64)	platform=linux-x64 ;;
Linux-aarch64)	platform=linux-arm64 ;;
*)		fail "no libraries are shipped for $(uname -s) on $(uname -m)" ;;
esac

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$root/build/demo/engine}
mkdir -p "$dir" 2>/dev/null || fail "$dir: cannot create this folder"
dir=$(cd "$dir" && pwd)
log=$dir/install.log
libs=$dir/node_modules/@node-llama-cpp/$platform/bins/$platform
stamp="node-llama-cpp $version $platform"

is_complete()
{
	[ "$(cat "$dir/.complete" 2>/dev/null)" = "$stamp" ] && [ -e "$libs/llama-addon.node" ] &&
		[ -x "$dir/node" ]
}

if is_complete; then
	echo "$libs"
	exit 0
fi

if command -v flock >/dev/null; then
	exec 9>"$dir/.lock"
	flock 9
	if is_complete; then	# by the run we waited for
		echo "$libs"
		exit 0
	fi
fi

rm -f "$dir/.complete"
: >"$log" || fail "$log: cannot write"
export NODE_LLAMA_CPP_SKIP_DOWNLOAD=true
export npm_config_loglevel=error npm_config_update_notifier=false

install_debian()
{
	note "installing $* (apt-get)"
	command -v apt-get >/dev/null || fail "$* not found, and no apt-get to install it with"
	[ "$(id -u)" = 0 ] || fail "$* not found: install with 'apt-get install $*' as root"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 ||
		run_logged "apt-get update" apt-get update
	run_logged "apt-get install $*" apt-get install -y --no-install-recommends "$@"
}

# install_npm WHAT DIR: what examples/demo/npm/WHAT locks and nothing else, checked against the lock's hashes.
install_npm()
{
	mkdir -p "$2"
	cp "$root/examples/demo/npm/$1/package.json" "$root/examples/demo/npm/$1/package-lock.json" "$2" ||
		fail "$2: cannot write"
	run_logged "npm ci ($1)" npm ci --prefix "$2" --omit=optional --ignore-scripts --no-audit \
		--no-fund
}

node_is_new_enough()
{
	major=$("$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null) || return 1
	[ "$major" -ge "$node_major" ] 2>/dev/null
}

command -v node >/dev/null || install_debian nodejs npm
command -v npm >/dev/null || install_debian npm

note "installing $stamp (npm)"
install_npm "$platform" "$dir"
[ -e "$libs/llama-addon.node" ] || fail "$libs: the package has no llama-addon.node"

node=$(command -v node)
if ! node_is_new_enough "$node"; then
	note "Node.js $("$node" --version 2>/dev/null) is older than $node_major: installing" \
		"$node_version (npm)"
	install_npm "node-$platform" "$dir/node-package"
	node=$dir/node-package/node_modules/node-$platform/bin/node
	node_is_new_enough "$node" || fail "$node: does not run here"
fi

ln -sfn "$node" "$dir/node"
ln -sfn "node_modules/@node-llama-cpp/$platform/bins/$platform" "$dir/libs"

# The proof that it works is that it loads: libc, addon and libraries fit each other.
cat >"$dir/probe.mjs" <<'PROBE'
import { getLlama } from "node-llama-cpp";
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
await llama.dispose();
PROBE
run_logged "loading the libraries" "$dir/node" "$dir/probe.mjs"

echo "$stamp" >"$dir/.complete"
echo "$libs"
