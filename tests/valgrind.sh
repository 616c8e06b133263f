#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing of ours leaks: the library's tests and an embedding program under valgrind.
cd "$(dirname "$0")/.." || exit 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
grind="valgrind -q --leak-check=full --show-leak-kinds=definite,possible,indirect
	--errors-for-leak-kinds=definite,possible,indirect --error-exitcode=9 --child-silent-after-fork=yes"
export BRICK_VALGRIND=1
for test in build/bin/test-registry build/bin/test-probe build/bin/test-session; do
	$grind $test || exit 1
done
cd "$out" && $grind "$OLDPWD/build/bin/example-embed" embed.pftrace
