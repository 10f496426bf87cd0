# SPDX-License-Identifier: MIT
# `./dev proof`: everything that shows that weir keeps its promises, at full size. Sourced by dev.

# What a full proof does, and how long a part takes at 100 %.
proof_schedules=20000000
proof_fuzz=1800
proof_soak=3600

# of PERCENT NUMBER: so much of it, and at least 1.
of() {
    local part=$(($1 * $2 / 100))
    printf '%d' $((part > 0 ? part : 1))
}

# prove NAME COMMAND...: one part; its whole output is kept, its last line counted and shown.
prove() {
    local name=$1 log=.build/proof/$1.log start=$SECONDS last
    shift
    say "$name: $*"
    (set +e && "$@") >"$log" 2>&1 || true
    last=$(tail -n 1 "$log")
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        result "$name" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" 0 $((SECONDS - start))
    else
        tail -n 30 "$log"
        result "$name" 0 1 0 $((SECONDS - start))
    fi
}

# What the figures are of.
proof_setting() {
    printf 'commit    %s%s\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" \
        "$(git diff --quiet HEAD 2>/dev/null || echo ', changed')"
    printf 'date      %s\n' "$(date -u '+%F')"
    printf 'compilers %s; %s; %s\n' "$(gcc --version | head -n 1)" \
        "$(clang-14 --version | head -n 1)" "$(clang-19 --version | head -n 1)"
    printf 'machine   %s, %s processors\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
}

run_proof() {
    local percent=${1-100}
    rm -rf .build/proof
    mkdir -p .build/proof
    proof_setting | tee .build/proof/setting
    prove test ./dev test
    prove analyze run_analyze
    prove coverage run_coverage
    prove model run_model full
    prove schedules run_schedules "$(of "$percent" $proof_schedules)"
    prove schedule-faults run_schedules faults
    prove fuzz run_fuzz "$(of "$percent" $proof_fuzz)"
    prove soak run_soak "$(of "$percent" $proof_soak)"
    prove soak-faults run_soak faults
    prove mutants run_mutants all
    prove flips run_mutants flips
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}
