#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches a PyTorch for CPUs and transformers, as pip installs them, for the tests to record: 250 MB to
# download, 950 MB of disk. Nothing is taken but what is named by its hash in examples/demo/pip.
#
#   usage: torch.sh NAME [DIR]      a file of examples/demo/pip; DIR defaults to build/demo/pip
#
# Prints the interpreter DIR/NAME/bin/python, alone, on stdout. A second run finds .complete beside
# it and returns at once. Two runs at a time wait for each other.

set -eu

fail()
{
	echo "torch.sh: $1" >&2
	exit 1
}

[ $# -ge 1 ] || fail "which one?"
wanted=$(cd "$(dirname "$0")" && pwd)/pip/$1.txt
[ -f "$wanted" ] || fail "$1: examples/demo/pip has no such file"
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${2:-$root/build/demo/pip}/$1
mkdir -p "$dir" 2>/dev/null || fail "$dir: cannot create this folder"
dir=$(cd "$dir" && pwd)

exec 9>"$dir/.lock"
flock 9
if [ ! -f "$dir/.complete" ]; then
	base=
	for python in python3.11 python3 /usr/bin/python3.11; do
		"$python" -c 'import sys, pip, venv; assert sys.version_info[:2] == (3, 11)' 2>/dev/null || continue
		base=$python
		break
	done
	[ -n "$base" ] || fail "there is no Python 3.11 with pip"
	{
		"$base" -m venv --without-pip "$dir" &&
			"$base" -m pip --python "$dir/bin/python" install --no-input --no-deps \
				--require-hashes --only-binary :all: -r "$wanted"
	} >"$dir/install.log" 2>&1 || fail "pip could not install $1 (log: $dir/install.log)"
	: >"$dir/.complete"
fi
echo "$dir/bin/python"
