# SPDX-License-Identifier: MIT
# The configurations of `./dev test`, and how their results are counted. Sourced by dev.

. .ci/sanitizers.sh

configurations=(gcc asan words memory tsan clang14 clang19 benchmarks instructions kinds model
    schedules fuzz mutants arm64)

# Sums over all configurations.
passed=0 failed=0 skipped=0

# result NAME PASSED FAILED SKIPPED SECONDS: one line, and into the sums.
result() {
    printf '   %-8s %5d passed, %d failed, %d skipped  (%d s)\n' "$@"
    ((passed += $2, failed += $3, skipped += $4)) || true
}

# configuration NAME COMPILER SCALE SUITES OPTION...: builds and tests. SCALE: percent of the full
# size of the stress tests. SUITES: those to run, "all", or "" to build only. A build that fails
# counts as one failed test, one without tests that succeeds as one passed.
configuration() {
    local name=$1 compiler=$2 scale=$3 suites=$4 start=$SECONDS suite
    local counts=(0 0 0) arguments=(--no-rebuild --timeout-multiplier 4 --logbase testlog)
    shift 4
    say "$name: $("$compiler" --version | head -n 1)"
    if ! configure "$name" "$compiler" -Dwerror=true -Dcli=enabled -Dtests=enabled "$@" ||
        ! compile "$name"; then
        say "$name: cannot be built"
        result "$name" 0 1 0 $((SECONDS - start))
        return 0
    fi
    if [[ -z $suites ]]; then
        result "$name" 1 0 0 $((SECONDS - start))
        return 0
    fi
    for suite in ${suites/#all/}; do
        arguments+=(--suite "$suite")
    done
    rm -f ".build/$name/meson-logs/testlog.json"
    WEIR_STRESS_SCALE=${WEIR_STRESS_SCALE-$scale} \
        sanitized meson test -C ".build/$name" "${arguments[@]}" \
        >".build/$name.test.log" 2>&1 || true
    read -r -a counts < <(python3 .ci/count_tests.py ".build/$name/meson-logs/testlog.json" \
        2>".build/$name.failures.log") || true
    if ((${#counts[@]} != 3)) || ((counts[0] + counts[1] == 0)); then
        say "$name: no test was run"
        tail -n 30 ".build/$name.test.log"
        counts=(0 1 0)
    fi
    cat ".build/$name.failures.log"
    result "$name" "${counts[@]}" $((SECONDS - start))
}

# counted NAME LOG COMMAND...: runs it with its output in LOG, and counts what its last line counts.
# Nothing counted at all, and a status that the counts do not explain, count as a failure, but for
# what says why it was skipped.
counted() {
    local name=$1 log=$2 start=$SECONDS status=0 last
    shift 2
    "$@" >"$log" 2>&1 || status=$?
    last=$(tail -n 1 "$log")
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] &&
        ((BASH_REMATCH[1] + BASH_REMATCH[2] > 0 && (BASH_REMATCH[2] > 0) == (status > 0))); then
        ((status == 0)) || tail -n 60 "$log"
        result "$name" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" 0 $((SECONDS - start))
    elif ((status == 0)) && [[ $last == '0 passed, 0 failed' ]] && grep '^skipped: ' "$log"; then
        result "$name" 0 0 1 $((SECONDS - start))
    else
        tail -n 60 "$log"
        say "$name: ended with status $status"
        result "$name" 0 1 0 $((SECONDS - start))
    fi
}

# proof NAME ARGUMENT...: the selection of `./dev NAME` that ends in minutes.
proof() {
    say "$*"
    counted "$1" ".build/$1.proof.log" ./dev "$@"
}

run_configuration() {
    case $1 in
    instructions | kinds | model) proof "$1" ;;
    # The same runs each time; by hand they are drawn. Of ten million one was seen in which a key was
    # refused the last place while another thread had led the shard on and not yet returned a credit.
    schedules) WEIR_TEST_SEED=1 proof "$1" ;;
    fuzz) proof fuzz 20 ;;
    mutants) proof mutants ten ;;
    gcc) configuration gcc gcc 100 all -Dbench=disabled ;;
    asan) configuration asan gcc 10 'unit conformance property stress fuzz recipes' -Dbench=disabled \
        "${sanitize_address[@]}" ;;
    words) configuration words clang-19 10 property -Dbench=disabled "${sanitize_words[@]}" ;;
    memory) configuration memory clang-19 10 "$suites_memory" -Dcli=disabled -Dbench=disabled \
        "${sanitize_memory[@]}" ;;
    tsan) configuration tsan clang-14 30 'unit stress' -Dbench=disabled "${sanitize_thread[@]}" ;;
    benchmarks) configuration benchmarks gcc 100 peers -Dbench=enabled ;;
    clang14) configuration clang14 clang-14 100 '' --buildtype=release -Dbench=auto ;;
    clang19) configuration clang19 clang-19 100 "$suites_address_clang" -Dbench=disabled \
        "${sanitize_address[@]}" ;;
    arm64) configuration arm64 aarch64-linux-gnu-gcc 100 '' --cross-file .build/arm64.ini \
        -Dbench=disabled ;;
    esac
}

# Packages of another architecture: only where it was asked for, by name or WEIR_TEST_ARM64, or
# where the system has the architecture already.
wants_arm64() {
    [[ -n ${WEIR_TEST_ARM64-} || " $* " == *" arm64 "* ]] ||
        { (($# == 0)) && dpkg --print-foreign-architectures 2>/dev/null | grep -qx arm64; }
}

prepare_arm64() {
    sed "s|@TREE@|$PWD|" .ci/arm64.ini.in >.build/arm64.ini
    [[ ! -d .build/ck-arm64 ]] || return 0
    (
        cd .build
        rm -rf ck-arm64.new
        apt-get download -qq libck-dev:arm64 &&
            dpkg-deb -x libck-dev_*_arm64.deb ck-arm64.new && mv ck-arm64.new ck-arm64
    ) >>.build/install.log 2>&1 || say "cannot unpack libck-dev:arm64, see .build/install.log"
}

run_tests() {
    local name
    # In a subshell: what cannot be installed for it ends no other test.
    if wants_arm64 "$@" && (need "${packages_arm64[@]}"); then
        prepare_arm64
    elif (($# == 0)); then
        say "arm64: left out; ./dev test arm64 adds the architecture to dpkg and builds for it"
        set -- "${configurations[@]:0:${#configurations[@]}-1}" # arm64 is the last
        ((skipped += 1)) || true
    fi
    (($#)) || set -- "${configurations[@]}"
    for name in "$@"; do
        run_configuration "$name"
    done
    if ((skipped)); then
        say "$skipped skipped"
    fi
    # Always the last line, always of this form: others read it.
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}
