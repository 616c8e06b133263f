#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# All tests: the whole suite with gcc; with clang under ASan+UBSan the unit tests of what runs inside of guests and what
# parses input, and a short run of the fuzzers; with gcc under TSan what has threads. run.sh check: unit tests and quick
# ones of programs, without engine and sanitizers. run.sh suite BUILD: the CTest tests of a build. Ends with one line,
# "N passed, N failed, N skipped, N flaky" (the last two if there are any).

set -u
cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=0 flaky=0
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

# suite NAME BUILD CTEST-ARGUMENTS...: a CTest run whose tests count one by one. What failed beside another test runs
# once more alone. A test that passes then is flaky: that fails, too, unless tests/flaky.txt gives a reason. How many of the
# four places a test takes is in tests/CMakeLists.txt.
suite()
{
	local name=$1 dir=$2 start=$SECONDS
	shift 2
	ctest --test-dir "$dir" -j4 --output-on-failure --timeout 900 "$@" >"$log/suite" 2>&1
	local total bad=0 skips unlisted=0 again=0
	total=$(sed -n 's/.* tests failed out of \([0-9]*\)/\1/p' "$log/suite")
	skips=$(grep -c '\*\*\*Skipped' "$log/suite")
	if [ -z "$total" ]; then
		failed=$((failed + 1))
		tail -40 "$log/suite"
		echo "FAIL  $name: CTest did not finish"
		return
	fi
	failures "$log/suite" >"$log/first"
	if [ -s "$log/first" ]; then
		cat "$log/suite"
		ctest --test-dir "$dir" -j1 --rerun-failed --output-on-failure --timeout 900 >"$log/again" 2>&1
		cat "$log/again"
		failures "$log/again" >"$log/second"
		bad=$(wc -l <"$log/second")
		for again in $(grep -vxFf "$log/second" "$log/first"); do
			flaky=$((flaky + 1))
			if grep -q "^$again " tests/flaky.txt; then
				echo "flaky $again: $(sed -n "s|^$again  *||p" tests/flaky.txt)"
			else
				unlisted=$((unlisted + 1))
				echo "FLAKY $again: failed, and passed alone; no reason in tests/flaky.txt"
			fi
		done
	fi
	grep -A99 'The following tests did not run' "$log/suite" | grep Skipped
	bad=$((bad + unlisted))
	passed=$((passed + total - $(wc -l <"$log/first") - skips))
	failed=$((failed + bad))
	skipped=$((skipped + skips))
	echo "$([ "$bad" = 0 ] && echo ok || echo FAIL)    $name: $total tests ($((SECONDS - start)) s)"
}

# What TSan wrote, if anything, also of programs whose exit code nobody looked at.
no_races()
{
	! cat "$log"/race.* 2>/dev/null
}

# The last line, and the end.
finish()
{
	local last="$passed passed, $failed failed"
	[ $skipped = 0 ] || last="$last, $skipped skipped"
	[ $flaky = 0 ] || last="$last, $flaky flaky"
	printf '\n%s\n' "$last"
	[ $failed = 0 ]
	exit
}

# failures LOG: names of the tests that failed in a CTest run
failures()
{
	sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \([^ ]*\) (.*/\1/p' "$1" | sort
}

build()
{
	cmake --preset "$1" && cmake --build --preset "$1"
}

if [ "${1-}" = suite ]; then
	suite "$2" "$2"
	finish
fi
check "build with gcc" build default
if [ "${1-}" = check ]; then
	suite "tests without engines" build -L "unit|quick"
	finish
fi
check "engine and models" examples/demo/models.sh
check "ggml as archives, for static programs" examples/demo/engine-static.sh
# 140 MB, of which one test needs something: without it that test is skipped
if examples/demo/engine-device.sh cuda >"$log/job" 2>&1; then
	echo "ok    engine for CUDA"
else
	tail -2 "$log/job"
	echo "skip  engine for CUDA"
fi
check "build of packages" build package
suite "tests" build
check "build with clang, ASan and UBSan" build asan
suite "unit tests, hostile requests and fuzzers under ASan and UBSan" build-asan -L "unit|hostile|fuzz"
check "build with gcc, TSan" build tsan
TSAN_OPTIONS=log_path=$log/race suite "what has threads, under TSan" build-tsan -L threads
check "no races" no_races
finish
