# SPDX-License-Identifier: MIT
# `./dev proof`: everything that shows that weir keeps its promises, at full size. Sourced by dev.

# Runs, and seconds, of the parts that PERCENT scales; the others have a size of their own.
proof_schedules=20000000
proof_fuzz=1800
proof_soak=3600

# of PERCENT NUMBER: so much of it, and at least 1.
of() {
    local part=$(($1 * $2 / 100))
    printf '%d' $((part > 0 ? part : 1))
}

# prove NAME ARGUMENT...: one part, `./dev ARGUMENT...`; its whole output is kept.
prove() {
    local name=$1
    shift
    say "$name: ./dev $*"
    counted "$name" ".build/proof/$name.log" ./dev "$@"
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
    prove test test
    prove analyze analyze
    prove coverage coverage
    prove model model full
    prove schedules schedules "$(of "$percent" $proof_schedules)"
    prove schedule-faults schedules faults
    prove fuzz fuzz "$(of "$percent" $proof_fuzz)"
    prove soak soak "$(of "$percent" $proof_soak)"
    prove soak-faults soak faults
    prove mutants mutants all
    prove flips mutants flips
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}
