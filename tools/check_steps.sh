# shellcheck shell=bash
# The steps of tools/check. A step prints what went wrong and returns non-zero;
# "skipped: why" alone says that it had nothing to do.

c_files() { git ls-files -co --exclude-standard "$@" | grep -E '\.[ch]$'; }

step_format() { tools/format --check; }
step_includes() { tools/check_deps.sh && tools/check_state_files.sh && tools/check_opens.sh && \
	tools/check_cuts.py && tools/check_words.sh && tools/check_exports.py && \
	tools/check_static_names.sh && tools/check_readmes.sh && tools/check_json.py && \
	tools/check_docs.py && tools/check_features.py; }
step_sizes() { tools/check_size.sh; }

step_scripts() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard |
		xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=' -- 2>/dev/null)
	shellcheck -x "${files[@]}" &&
		git ls-files -co --exclude-standard '*.py' |
		xargs -r python3 -c 'import sys
for f in sys.argv[1:]: compile(open(f, encoding="utf-8").read(), f, "exec")'
}

# gcc with every warning an error, ASan, UBSan and fault points: what unit and
# fault tests run on.
step_build-gcc() { build asan; }

# The fuzz targets, by clang. That clang has no warning about any other file is
# what step_tidy finds out.
step_build-clang() { build fuzz -- fuzzers; }

# What people run. With -O2, gcc follows values that it does not follow in the
# other builds, so its warnings are errors here, too.
step_build-release() { build release -DSKEP_WERROR=ON; }

# The programs with fault points and without sanitizers, for the many cases of
# the crash matrix that kill a process. Only files with fault points are compiled
# again; ccache has the others from build-release.
step_build-faults() {
	build faults -DSKEP_WERROR=ON -- skep skepd skep-watchdog skep-spawner \
		skep-worker skep-worker-chat skep-run
}

step_headers() {
	build asan -- all_verify_interface_header_sets
}

# Of freed memory. A larger one takes a third more time; and tests look at memory.
small_quarantine=quarantine_size_mb=1

# run_ctest PRESET LABEL: runs and counts the tests of a label.
run_ctest() {
	local xml=$PWD/build/check/$1-$2.xml jobs code
	jobs=$(nproc)
	[[ $2 == unit ]] && jobs=$((jobs * 2)) # half of the time they wait for disks
	export ASAN_OPTIONS=$small_quarantine
	export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
	rm -f "$xml"
	(cd "build/$1" && ${quiet_aslr-} ctest -L "^$2\$" -j "$jobs" \
		--output-on-failure --no-tests=error --output-junit "$xml" \
		--test-output-size-passed 1000000 \
		--test-output-size-failed 1000000)
	code=$?
	[[ -e $xml ]] && python3 tools/count_tests.py "$xml"
	return $code
}

step_unit() { run_ctest asan unit; }
step_fault() { run_ctest asan fault; }
step_replay() { run_ctest asan fuzz; }

# Tests of code that has threads, under ThreadSanitizer, which cannot map its
# shadow where addresses are randomised too widely. It looks for races, which
# need fewer steps than the comparisons that the unit tests make.
step_threads() {
	local quiet_aslr=
	local -x VFS_MODEL_ROUNDS=6 VFS_THREADS_STEPS=100
	setarch -R true 2>/dev/null && quiet_aslr="setarch -R"
	build tsan -- threaded && run_ctest tsan threads
}

# What clang-tidy and cppcheck found out about unchanged files, for all clones,
# as the compiler's cache is.
cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/skep-check

step_tidy() { python3 tools/tidy.py build/fuzz "$cache/tidy"; }

step_cppcheck() {
	local files
	mapfile -t files < <(c_files '*.c' | grep -v '^tests/')
	mkdir -p build/check
	[[ -e build/check/cppcheck || ! -e $cache/cppcheck ]] ||
		cp -r "$cache/cppcheck" build/check/cppcheck
	mkdir -p build/check/cppcheck
	cppcheck --enable=warning,style,performance,portability --quiet \
		--error-exitcode=1 --inline-suppr --std=c11 -j "$(nproc)" \
		--suppressions-list=tools/cppcheck.txt -D_GNU_SOURCE \
		-DSKEP_VERSION='"0"' \
		-D'cJSON_ArrayForEach(e,a)=for(e=(a)->child;e;e=(e)->next)' --cppcheck-build-dir=build/check/cppcheck \
		-I . -I build/asan/generated \
		"${files[@]}" || return 1
	mkdir -p "$cache" && rm -rf "$cache/cppcheck.$$" &&
		cp -r build/check/cppcheck "$cache/cppcheck.$$" &&
		rm -rf "$cache/cppcheck" &&
		mv -T "$cache/cppcheck.$$" "$cache/cppcheck"
}

# fuzz_target NAME OPTION...: one target from the corpus in the tree, in an order
# that does not depend on the file system. An input that fails is kept in
# build/fuzz-finds.
fuzz_target() {
	local name=$1 dict=() seeds steady=()
	shift
	setarch -R true 2>/dev/null && steady=(setarch -R)
	[[ -e tests/fuzz/$name.dict ]] && dict=("-dict=tests/fuzz/$name.dict")
	seeds=$(find "tests/fuzz/corpus/$name" -type f | LC_ALL=C sort | paste -sd,)
	"${steady[@]}" "build/fuzz/$name" -timeout=120 -rss_limit_mb=1024 \
		-artifact_prefix="build/fuzz-finds/$name-" -verbosity=0 \
		"${dict[@]}" -seed_inputs="$seeds" "$@" \
		>"build/check/$name.log" 2>&1 </dev/null && return 0
	echo "$name failed:"
	tail -n 60 "build/check/$name.log"
	return 1
}

# A fixed number of executions from a fixed seed: the same inputs on every
# machine and in every run.
fuzz_fixed() {
	local runs
	runs=$(awk -v name="$1" '$1 == name { print $2 }' tests/fuzz/runs.txt)
	if [[ -z $runs ]]; then
		echo "$1 failed: it has no line in tests/fuzz/runs.txt"
		return 1
	fi
	fuzz_target "$1" -seed=1 -runs="$runs"
}

# For a time, from a random seed. New inputs stay in build/fuzz-corpus.
fuzz_open() {
	mkdir -p "build/fuzz-corpus/$1"
	fuzz_target "$1" -max_total_time="$FUZZ_SECONDS" "build/fuzz-corpus/$1"
}

# fuzz_timed FUNCTION NAME
fuzz_timed() {
	local start=$EPOCHREALTIME
	"$1" "$2" || return 1
	awk -v name="$2" -v from="$start" -v to="$EPOCHREALTIME" \
		'BEGIN { printf "%s: ok (%.2f s)\n", name, to - from }'
}
export -f fuzz_target fuzz_fixed fuzz_open fuzz_timed

# fuzz_all FUNCTION: every target, and how many are fine.
fuzz_all() {
	local names good
	mkdir -p build/fuzz-finds
	mapfile -t names < <(basename -s .c tests/fuzz/fuzz_*.c)
	printf '%s\n' "${names[@]}" |
		xargs -P "$(nproc)" -I {} bash -c "fuzz_timed $1 {}" |
		tee build/check/fuzz.out
	good=$(grep -c ': ok (' build/check/fuzz.out)
	echo "$good passed, $((${#names[@]} - good)) failed, 0 skipped"
	[[ $good -eq ${#names[@]} ]]
}

step_fuzz-fixed() { ASAN_OPTIONS=$small_quarantine fuzz_all fuzz_fixed; }

# "tools/check fuzz MINUTES": the time is shared out among the targets.
step_fuzz-open() {
	local targets
	targets=$(find tests/fuzz -name 'fuzz_*.c' | wc -l)
	export FUZZ_SECONDS=$((FUZZ_MINUTES * 60 * $(nproc) / targets))
	fuzz_all fuzz_open
}

# Tests that look at memory, on the build that people run.
step_load() { run_ctest release load; }

# Real binaries: the release build, and for the crash matrix the one that has
# the fault points.
step_system() {
	if [[ ! -e tests/system/run.py ]]; then
		echo "skipped: tests/system has no runner"
		return 0
	fi
	ASAN_OPTIONS=$small_quarantine SKEP_FAULTS_BIN=$PWD/build/asan \
		SKEP_KILLS_BIN=$PWD/build/faults python3 tests/system/run.py \
		--bin build/release --jobs "$(($(nproc) + 1))" \
		--more "$(($(nproc) * 6))" # most only wait
}

# Random kills while clients of every kind write. One minute unless
# "tools/check torture MINUTES" asks for more; then with a new seed. The clients
# use all the time that they get, so the other steps come first.
step_torture() {
	local args=(--minutes 1 --seed 1)
	[[ -n $minutes ]] && args=(--minutes "$minutes")
	nice -n 5 python3 tests/torture/torture.py --bin build/release --keep "${args[@]}"
}
