#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as strict C11 and C++17 (that of C++: from C++11 on), without a warning.
cd "$(dirname "$0")/.." || exit 1
flags="-Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only"
for header in include/brick/*.h include/brick/abi/*.h; do
	unit="#include \"${header#include/}\"
typedef int unit;"
	for compiler in gcc clang; do
		echo "$unit" | $compiler -std=c11 $flags -x c - || exit 1
	done
	for compiler in g++ clang++; do
		echo "$unit" | $compiler -std=c++17 $flags -x c++ - || exit 1
	done
done
for compiler in g++ clang++; do
	for standard in 11 17 20; do
		echo '#include "brick/brick.hpp"' | $compiler -std=c++$standard $flags -x c++ - || exit 1
	done
done
