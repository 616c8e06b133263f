#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All C and C++ of the tree is formatted as .clang-format says. Versions of clang-format disagree about macros, so this is
# version 14's answer, which Debian 12 has; elsewhere PyPI's goes into build/clang-format, by its hash.
cd "$(dirname "$0")/.." || exit 1
formatter=
for candidate in clang-format clang-format-14 build/clang-format/clang_format/data/bin/clang-format; do
	case $("$candidate" --version 2>/dev/null) in *"version 14."*) formatter=$candidate && break ;; esac
done
if [ -z "$formatter" ]; then
	/usr/bin/python3 -m pip install --require-hashes --quiet --root-user-action=ignore --target build/clang-format \
		-r tests/format-requirements.txt || exit 1
	formatter=build/clang-format/clang_format/data/bin/clang-format
fi
git ls-files '*.c' '*.h' '*.hpp' '*.cc' | xargs "$formatter" --dry-run --Werror
