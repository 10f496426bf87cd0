# SPDX-License-Identifier: MIT
# Checks of `dev` itself, as functions that print what is wrong. Sourced by lint.sh.

# refused WORDS PATTERN: ./dev with these words ends with status 2 and says so.
refused() {
    local output status=0
    # shellcheck disable=SC2086 # the words are several arguments
    output=$(./dev $1 2>&1) || status=$?
    if ((status != 2)) || [[ $output != *"$2"* ]]; then
        printf './dev %s: status %d, %s\n' "$1" "$status" "$output"
        return 1
    fi
}

wrong_usage_is_refused() {
    local status=0
    refused 'tset' 'unknown command tset' || status=1
    refused 'run x' 'run takes no argument' || status=1
    refused 'lint x' 'lint takes no argument' || status=1
    refused 'package x' 'package takes no argument' || status=1
    refused 'help x' 'help takes no argument' || status=1
    refused 'test gcc x' 'unknown configuration x' || status=1
    refused 'fuzz' 'for how many seconds' || status=1
    refused 'fuzz 1 policy_text x' 'unknown target x' || status=1
    refused 'fuzz 1 ../fuzz/fuzz_input' 'unknown target' || status=1
    refused 'bench --json' '--json needs a name' || status=1
    refused 'schedules 0' 'how many runs' || status=1
    refused 'bench x' 'unknown argument' || status=1
    refused 'bench --report --json f' '--report needs a name' || status=1
    refused 'bench --report d --check f' 'only --report' || status=1
    refused 'bench --report .build/none f' 'No such file' || status=1
    refused 'bench --compare a' '--compare needs two files' || status=1
    refused 'instructions x' '--update, or nothing' || status=1
    refused 'schedules 1 2' 'how many runs' || status=1
    refused 'schedules faults x' 'how many runs' || status=1
    refused 'soak x' 'for how many seconds' || status=1
    refused 'mutants nosuch' 'unknown mutant' || status=1
    refused 'mutants why' 'unknown mutant' || status=1
    refused 'mutants ten x' 'which seed' || status=1
    refused 'model x' 'full, or nothing' || status=1
    refused 'proof 5 6' 'unknown part' || status=1
    refused 'coverage x' 'coverage takes no argument' || status=1
    return $status
}

# The last line of `dev test`, whatever was skipped.
test_ends_with_the_counts() {
    local last
    last=$(
        . .ci/test.sh
        run_configuration() { ((passed += 2, failed += 1, skipped += 3)); }
        run_tests any || true
    )
    last=${last##*$'\n'}
    [[ $last == '2 passed, 1 failed' ]] || {
        printf 'the last line is: %s\n' "$last"
        return 1
    }
}

# What leaves itself out is no failure, but what counts nothing without a word is.
left_out_is_counted() {
    local log=.build/check-counted.log sums
    sums=$(
        . .ci/test.sh
        counted a "$log" printf '%s\n' 'skipped: not here' '0 passed, 0 failed' >/dev/null
        counted b "$log" printf '%s\n' '0 passed, 0 failed' >/dev/null
        printf '%s' "$passed $failed $skipped"
    )
    rm -f "$log"
    [[ $sums == '0 1 1' ]] || {
        printf 'counted are: %s\n' "$sums"
        return 1
    }
}

build_errors_are_shown() {
    local log=.build/check-errors.log shown
    printf 'ninja: Entering directory\nninja: error: loading build.ninja\n' >"$log"
    shown=$(show_build_errors "$log")
    rm -f "$log"
    [[ $shown == *'ninja: error: loading'* ]] || {
        printf 'shown is: %s\n' "$shown"
        return 1
    }
}
