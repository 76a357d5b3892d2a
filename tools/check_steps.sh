# shellcheck shell=bash
# The steps of tools/check. A step prints what went wrong and returns non-zero;
# "skipped: why" alone says that it had nothing to do.

c_files() { git ls-files -co --exclude-standard "$@" | grep -E '\.[ch]$'; }

step_format() { tools/format --check; }
step_includes() { tools/check_deps.sh && tools/check_legacy.sh; }
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

# clang with every warning an error: what the fuzzers run on.
step_build-clang() { build fuzz; }
step_build-release() { build release; }

step_headers() {
	build asan -- all_verify_interface_header_sets
}

# run_ctest PRESET LABEL: runs and counts the tests of a label.
run_ctest() {
	local xml=$PWD/build/check/$1-$2.xml code
	export ASAN_OPTIONS=quarantine_size_mb=4 # tests look at memory, too
	export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
	rm -f "$xml"
	(cd "build/$1" && ${quiet_aslr-} ctest -L "^$2\$" -j "$(nproc)" \
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
# shadow where addresses are randomised too widely.
step_threads() {
	local quiet_aslr=
	setarch -R true 2>/dev/null && quiet_aslr="setarch -R"
	build tsan -- threaded && run_ctest tsan threads
}

step_tidy() { python3 tools/tidy.py build/fuzz build/check/tidy; }

step_cppcheck() {
	local files
	mapfile -t files < <(c_files '*.c' | grep -v '^tests/')
	mkdir -p build/check/cppcheck
	cppcheck --enable=warning,style,performance,portability --quiet \
		--error-exitcode=1 --inline-suppr --std=c11 -j "$(nproc)" \
		--suppressions-list=tools/cppcheck.txt -D_GNU_SOURCE \
		-DSKEP_VERSION='"0"' \
		-D'cJSON_ArrayForEach(e,a)=for(e=(a)->child;e;e=(e)->next)' --cppcheck-build-dir=build/check/cppcheck \
		-I . -I build/asan/generated \
		"${files[@]}"
}

# Every fuzz target for a few seconds from the corpus in the tree. New inputs
# stay in build/check/corpus; one that fails is left in build/check. The seed is
# always the same, so that a check says what a change broke; who looks for more
# sets FUZZ_SEED and FUZZ_SECONDS.
fuzz_one() {
	local name=$1 dict=() seconds=${FUZZ_SECONDS:-5} seed=${FUZZ_SEED:-1}
	[[ -e tests/fuzz/$1.dict ]] && dict=("-dict=tests/fuzz/$1.dict")
	mkdir -p "build/check/corpus/$name"
	"build/fuzz/$name" -seed="$seed" -max_total_time="$seconds" -timeout=10 \
		-rss_limit_mb=1024 -artifact_prefix="build/check/$name-" \
		-verbosity=0 "${dict[@]}" \
		"build/check/corpus/$name" "tests/fuzz/corpus/$name" \
		>"build/check/$name.log" 2>&1 && return 0
	echo "$name failed:"
	tail -n 60 "build/check/$name.log"
	return 1
}
export -f fuzz_one

step_fuzz() {
	local names good
	mapfile -t names < <(basename -s .c tests/fuzz/fuzz_*.c)
	printf '%s\n' "${names[@]}" |
		xargs -P "$(nproc)" -I {} bash -c 'fuzz_one {} && echo {}: ok' |
		tee build/check/fuzz.out
	good=$(grep -c ': ok$' build/check/fuzz.out)
	echo "$good passed, $((${#names[@]} - good)) failed, 0 skipped"
	[[ $good -eq ${#names[@]} ]]
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
	SKEP_FAULTS_BIN=$PWD/build/asan python3 tests/system/run.py \
		--bin build/release --jobs "$(($(nproc) + 1))" # many only wait
}

# Random kills while clients of every kind write. One minute unless
# "tools/check torture MINUTES" asks for more; then with a new seed.
step_torture() {
	local args=(--minutes 1 --seed 1)
	[[ -n $minutes ]] && args=(--minutes "$minutes")
	python3 tests/torture/torture.py --bin build/release --keep "${args[@]}"
}
