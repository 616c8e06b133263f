#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C11 and as C++17, without a warning.
cd "$(dirname "$0")/.." || exit 1
for header in include/brick/*.h include/brick/abi/*.h; do
	for compiler in gcc clang; do
		echo "#include \"${header#include/}\"" | $compiler -std=c11 -Wall -Wextra -Werror \
			-Iinclude -fsyntax-only -x c - || exit 1
	done
	for compiler in g++ clang++; do
		echo "#include \"${header#include/}\"" | $compiler -std=c++17 -Wall -Wextra -Werror \
			-Iinclude -fsyntax-only -x c++ - || exit 1
	done
done
