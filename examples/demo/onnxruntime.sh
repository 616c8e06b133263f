#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches ONNX Runtime as npm ships it, for the tests to record: onnxruntime-node, 30 to 115 MB to
# download for a version, or what is built on it, @huggingface/transformers, 200 MB. Only libraries
# for this machine are kept.
#
#   usage: onnxruntime.sh NAME [DIR]      a folder of examples/demo/npm, which has the hashes; DIR
#                                         defaults to build/demo/onnxruntime
#
# Prints the folder DIR/NAME/node_modules, alone, on stdout. A second run finds .complete
# beside it and returns at once. Two runs at a time wait for each other.

set -eu

fail()
{
	echo "onnxruntime.sh: $1" >&2
	exit 1
}

[ $# -ge 1 ] || fail "which package?"
locked=$(cd "$(dirname "$0")" && pwd)/npm/$1
[ -f "$locked/package-lock.json" ] || fail "$1: examples/demo/npm has no such folder"
case $(uname -s)-$(uname -m) in
Linux-x86_64)	platform=linux/x64 ;;
Linux-aarch64)	platform=linux/arm64 ;;
*)		fail "no libraries are shipped for $(uname -s) on $(uname -m)" ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${2:-$root/build/demo/onnxruntime}/$1
mkdir -p "$dir" 2>/dev/null || fail "$dir: cannot create this folder"
dir=$(cd "$dir" && pwd)
package=$dir/node_modules/onnxruntime-node # its own or the one that it brings

exec 9>"$dir/.lock"
flock 9
if [ ! -f "$dir/.complete" ]; then
	# its install script would fetch libraries for other devices
	cp "$locked/package.json" "$locked/package-lock.json" "$dir"
	npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund >"$dir/install.log" 2>&1 ||
		fail "npm could not install $1 (log: $dir/install.log)"
	for folder in "$package"/bin/*/*/*; do
		case $folder in
		*/"$platform") ;;
		*) rm -rf "$folder" ;;
		esac
	done
	: >"$dir/.complete"
fi
echo "$dir/node_modules"
