# SPDX-License-Identifier: MIT
# Schedules of few calls: very many of them, and faults that they have to find. Sourced by dev.

# shellcheck disable=SC2034 # dev installs them
packages_schedules=("${packages_run[@]}" libcmocka-dev)

# schedules_of NAME SEED RUNS: one process. Its exit status is the program's.
schedules_of() {
    WEIR_TEST_SEED=$2 WEIR_SCHEDULE_RUNS=$3 CMOCKA_MESSAGE_OUTPUT=STDOUT \
        .build/schedules/tests/stress_schedules_small >".build/schedules.$1.log" 2>&1
}

# run_many_schedules RUNS: two processes with seeds of their own. The first seed is WEIR_TEST_SEED,
# or drawn.
run_many_schedules() {
    local runs=$1 first=${WEIR_TEST_SEED-} start passed failed milliseconds name
    [[ -n $first ]] || first=$((1 + (RANDOM << 30 | RANDOM << 15 | RANDOM)))
    local half=$((runs / 2))
    configure schedules gcc --buildtype=release -Dbench=disabled -Dcli=disabled -Dtests=enabled
    ninja -C .build/schedules tests/stress_schedules_small >.build/schedules.build.log 2>&1 || {
        show_build_errors .build/schedules.build.log
        return 1
    }
    say "$runs runs by two processes, seeds from $first and from $((first + half)) on"
    start=$(date +%s%3N)
    schedules_of 0 "$first" "$half" &
    schedules_of 1 $((first + half)) $((runs - half)) || true
    wait $! || true
    milliseconds=$(($(date +%s%3N) - start + 1))
    # Both logs name the tests; a run that failed says how it is made again.
    cat .build/schedules.[01].log >.build/schedules.log
    grep -E '^ERROR: ' .build/schedules.log || true
    awk -v ms="$milliseconds" '/: [0-9]+ runs, [0-9]+ points, / {
            sub(/^# /, ""); split($0, part, ": "); split(part[2], n, /[^0-9]+/)
            if (!(part[1] in runs)) order[++kinds] = part[1]
            runs[part[1]] += n[1]; points[part[1]] += n[2]; switches[part[1]] += n[3]
        }
        END {
            for (i = 1; i <= kinds; i++) {
                k = order[i]
                printf "   %-20s %9d runs %12d points %11d switches\n", k, runs[k], points[k],
                    switches[k]
                r += runs[k]; p += points[k]; s += switches[k]
            }
            printf "   %-20s %9d runs %12d points %11d switches, %d s, %d runs a second\n", "all",
                r, p, s, ms / 1000, r * 1000 / ms
        }' .build/schedules.log
    passed=$(grep -c '^\[       OK \]' .build/schedules.log) || true
    failed=$(grep -cE '^\[  FAILED  \] [a-z0-9_]+$' .build/schedules.log) || true
    # cmocka names each failed test twice; a process that died names no test after that.
    failed=$((failed / 2))
    for name in 0 1; do
        grep -q 'test(s) run' ".build/schedules.$name.log" || ((failed += 1))
    done
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0 && passed > 0))
}

# run_schedules [RUNS | faults [RUNS]]
run_schedules() {
    (($# <= 2)) || wrong_usage "schedules: so many arguments?"
    if [[ ${1-} == faults ]]; then
        [[ ${2-1} =~ ^[1-9][0-9]*$ ]] || wrong_usage "schedules faults: how many runs?"
        say "faults that are planted, and the runs until each is found"
        python3 tests/stress/plant.py . .build/plant "${2-200000}"
    else
        [[ ${1-11} =~ ^[1-9][0-9]*$ && $# -le 1 ]] || wrong_usage "schedules: how many runs?"
        run_many_schedules "${1-1000000}"
    fi
}
