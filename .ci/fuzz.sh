# SPDX-License-Identifier: MIT
# Fuzzing: run_fuzz SECONDS [NAME...]. Sourced after build.sh, from the top of the tree.
#
# Two targets run at a time, each for SECONDS. The committed corpus is only read: what is new stays
# in .build/fuzz/corpus/NAME, an input that failed in .build/fuzz/crashes.

# shellcheck disable=SC2034 # installed by dev
packages_fuzz=("${packages_run[@]}" clang-19 libclang-rt-19-dev llvm-19)

# fuzz_reduce NAME: of many inputs that were found before, those that reach all that they do; to load
# them all would take longer than to fuzz.
fuzz_reduce() {
    local found=.build/fuzz/corpus/$1 few=.build/fuzz/few.$1
    (($(find "$found" -type f | wc -l) > 1000)) || return 0
    rm -rf "$few"
    mkdir "$few"
    if sanitized ".build/libfuzzer/fuzz/fuzz_$1" -set_cover_merge=1 -use_counters=0 -max_len=4096 \
        "$few" "$found" >".build/fuzz/$1.few.log" 2>&1; then
        rm -rf "$found"
        mv "$few" "$found"
    fi
}

fuzz_job() {
    local name=$1 seconds=$2 found=.build/fuzz/corpus/$1 crashes=.build/fuzz/crashes
    local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=4096
        -print_final_stats=1 -artifact_prefix="$crashes/$name-")
    mkdir -p "$found" "$crashes"
    fuzz_reduce "$name"
    if [[ -f fuzz/$name.dict ]]; then
        options+=(-dict="fuzz/$name.dict")
    fi
    sanitized ".build/libfuzzer/fuzz/fuzz_$name" "${options[@]}" "$found" "fuzz/corpus/$name" \
        >".build/fuzz/$name.out" 2>".build/fuzz/$name.log"
}

# fuzz_figure PATTERN LOG: the last number that PATTERN (sed, with one group) finds; 0 for none.
fuzz_figure() {
    local figure
    figure=$(sed -nE "s/.*$1.*/\\1/p" "$2" | tail -n 1)
    printf '%s' "${figure:-0}"
}

# fuzz_result NAME STATUS: one line of figures, or what went wrong. False: it failed.
fuzz_result() {
    local log=.build/fuzz/$1.log runs edges units inputs
    runs=$(fuzz_figure 'stat::number_of_executed_units: *([0-9]+)' "$log")
    units=$(fuzz_figure 'stat::new_units_added: *([0-9]+)' "$log")
    edges=$(fuzz_figure ' cov: ([0-9]+)' "$log")
    if (($2 == 0 && runs > 0)); then
        printf '   %-14s %9d executions, %5d edges, %4d new inputs\n' "$1" "$runs" "$edges" "$units"
        return 0
    fi
    tail -n 60 "$log"
    inputs=$(sed -nE 's/.*Test unit written to (.*)/\1/p' "$log" | tail -n 1)
    say "$1: failed after $runs executions; its input: ${inputs:-none was written}; log: $log"
    return 1
}

# run_fuzz SECONDS [NAME...]
run_fuzz() {
    [[ ${1-} =~ ^[1-9][0-9]*$ ]] || wrong_usage "fuzz: for how many seconds a target?"
    local seconds=$1 names=() name i passed=0 failed=0 jobs=()
    shift
    for name in "$@"; do
        [[ $name != */* && -f fuzz/fuzz_$name.c ]] || wrong_usage "fuzz: unknown target $name"
    done
    configure libfuzzer clang-19 --buildtype=debugoptimized -Dfuzz=true -Dcli=enabled \
        -Dtests=disabled -Dbench=disabled "${sanitize_address[@]}" || die "cannot configure"
    compile libfuzzer || die "cannot build"
    names=("$@")
    if ((${#names[@]} == 0)); then
        for name in fuzz/fuzz_*.c; do
            name=${name#fuzz/fuzz_}
            names+=("${name%.c}")
        done
    fi
    say "${#names[@]} targets, $seconds s each, two at a time"
    mkdir -p .build/fuzz
    for ((i = 0; i < ${#names[@]}; i += 2)); do
        jobs=()
        for name in "${names[@]:i:2}"; do
            fuzz_job "$name" "$seconds" &
            jobs+=("$name $!")
        done
        for name in "${jobs[@]}"; do
            local status=0
            wait "${name#* }" || status=$?
            if fuzz_result "${name% *}" "$status"; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
            fi
        done
    done
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}
