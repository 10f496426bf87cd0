# SPDX-License-Identifier: MIT
# `./dev coverage`: which branches of the engine the tests take. Sourced by dev.

# shellcheck disable=SC2034 # dev installs them
packages_coverage=("${packages_run[@]}" libcmocka-dev clang-19 libclang-rt-19-dev llvm-19)

# What counts: not the programs that are built outside of this build, nor those of users.
coverage_suites=(unit property conformance stress fuzz)

# Counters of threads are added up, else a side that is told by a difference could seem not taken.
# Assertions are left out: they are branches that only faults take. Warnings are no errors: the
# compiler warns of decisions that it cannot tell MC/DC of.
coverage_options=(--buildtype=plain -Doptimization=1 -Db_ndebug=true -Db_lundef=false
    "-Dc_args=['-fprofile-instr-generate','-fcoverage-mapping','-fcoverage-mcdc','-fprofile-update=atomic']"
    -Dc_link_args=-fprofile-instr-generate)

# run_coverage: the last line is "N passed, N failed", where each file of the engine counts as one,
# the test programs that ran as one, and the list of exceptions as one.
run_coverage() {
    local suite arguments=() counts status=0
    local build=.build/coverage profiles=.build/coverage-profiles log=.build/coverage.test.log
    say "coverage: $(clang-19 --version | head -n 1)"
    if ! configure coverage clang-19 -Dcli=enabled -Dtests=enabled -Dbench=disabled \
        "${coverage_options[@]}" || ! compile coverage; then
        say "coverage: cannot be built"
        printf '0 passed, 1 failed\n'
        return 1
    fi
    rm -rf "$profiles" "$build/meson-logs/testlog.json" .build/coverage.profile
    mkdir -p "$profiles"
    for suite in "${coverage_suites[@]}"; do
        arguments+=(--suite "$suite")
    done
    say "running the tests"
    # One file for each program, to which its processes add. The same seed each time: what is
    # covered by chance today is so tomorrow.
    LLVM_PROFILE_FILE=$PWD/$profiles/%m.profraw \
        WEIR_TEST_SEED=${WEIR_TEST_SEED-1} WEIR_TEST_SCALE=${WEIR_TEST_SCALE-10} \
        WEIR_STRESS_SCALE=${WEIR_STRESS_SCALE-5} \
        meson test -C "$build" --no-rebuild --timeout-multiplier 4 --logbase testlog \
        "${arguments[@]}" >"$log" 2>&1 || true
    read -r -a counts < <(python3 .ci/count_tests.py "$build/meson-logs/testlog.json" \
        2>.build/coverage.failures.log) || true
    if ((${#counts[@]} != 3)) || ((counts[0] == 0 || counts[1] != 0)); then
        cat .build/coverage.failures.log
        say "coverage: tests failed, see $log"
        status=1
    fi
    llvm-profdata-19 merge --sparse -o .build/coverage.profile "$profiles"/*.profraw ||
        die "cannot merge the profiles"
    say "${counts[0]} tests ran; sides of branches, conditions that decide alone, lines;" \
        "all that is missing: .build/coverage.txt"
    python3 .ci/coverage.py "$build" .build/coverage.profile tests/coverage.exceptions "$status" \
        .build/coverage.txt "${coverage_suites[@]}"
}
