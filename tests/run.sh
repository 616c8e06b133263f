#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# All tests: the shape of the tree, the whole suite with gcc, the unit tests again with clang under
# ASan+UBSan and with gcc under TSan, valgrind on the library's tests, formatting, and a short run of
# the fuzzers. Ends with one line, "N passed, N failed, N skipped".

set -u
cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

# check NAME COMMAND...: one job that passes or fails as a whole
check()
{
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$log/job" 2>&1; then
		passed=$((passed + 1))
		echo "ok    $name ($((SECONDS - start)) s)"
	else
		failed=$((failed + 1))
		tail -40 "$log/job"
		echo "FAIL  $name"
	fi
}

# suite NAME BUILD CTEST-ARGUMENTS...: a CTest run whose tests count one by one. What failed beside
# another test runs once more alone: the host of this machine takes time from it as it likes. Who
# passes then is named, since such a test may have found a race.
suite()
{
	local name=$1 dir=$2 start=$SECONDS
	shift 2
	ctest --test-dir "$dir" -j2 --output-on-failure --timeout 300 "$@" >"$log/suite" 2>&1
	local total bad skips again
	total=$(sed -n 's/.* tests failed out of \([0-9]*\)/\1/p' "$log/suite")
	bad=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$log/suite")
	skips=$(grep -c '\*\*\*Skipped' "$log/suite")
	if [ -z "$total" ]; then
		failed=$((failed + 1))
		tail -40 "$log/suite"
		echo "FAIL  $name: CTest did not finish"
		return
	fi
	if [ "$bad" != 0 ]; then
		cat "$log/suite"
		ctest --test-dir "$dir" -j1 --rerun-failed --output-on-failure --timeout 300 >"$log/again" 2>&1
		cat "$log/again"
		again=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$log/again")
		echo "again $name: $bad failed beside others, ${again:-$bad} of them alone as well"
		bad=${again:-$bad}
	fi
	grep -A99 'The following tests did not run' "$log/suite" | grep Skipped
	passed=$((passed + total - bad - skips))
	failed=$((failed + bad))
	skipped=$((skipped + skips))
	echo "$([ "$bad" = 0 ] && echo ok || echo FAIL)    $name: $total tests ($((SECONDS - start)) s)"
}

build()
{
	cmake --preset "$1" && cmake --build --preset "$1"
}

run_fuzzers()
{
	build fuzz && tests/fuzz/run.sh "${FUZZ_SECONDS:-5}"
}

check "arrows between rooms" tests/layers.py
check "no names that anybody can foretell" tests/measures.py
check "pages name what is there" tests/docs.py
check "build with gcc" build default
check "engine and models" examples/demo/models.sh
check "ggml as archives, for static programs" examples/demo/engine-static.sh
# 140 MB, of which one test needs something: without it that test is skipped
if examples/demo/engine-device.sh cuda >"$log/job" 2>&1; then
	echo "ok    engine for CUDA"
else
	tail -2 "$log/job"
	echo "skip  engine for CUDA"
fi
suite "tests" build
check "build with clang, ASan and UBSan" build asan
suite "unit tests and hostile requests under ASan and UBSan" build-asan -L "unit|hostile"
check "build with gcc, TSan" build tsan
suite "library tests under TSan" build-tsan -R 'unit/(registry|clock|session|record|queue|device|timer|trace_part_file)'
check "no leaks under valgrind" tests/valgrind.sh
check "fuzzers" run_fuzzers
check "formatting" tests/format.sh
check "headers compile alone, as C11 and C++17" tests/headers.sh
check "install, pkg-config and find_package" tests/install.sh
check "packages" tests/packages.sh

echo
if [ $skipped -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ $failed = 0 ]
