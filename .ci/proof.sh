# SPDX-License-Identifier: MIT
# `./dev proof`: everything that shows that weir keeps its promises, at full size. Sourced by dev.

# Runs, and seconds, of the parts that PERCENT scales; the others have a size of their own.
proof_schedules=10000000
proof_fuzz=300
proof_soak=1200

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

proof_parts=(test analyze coverage model schedules schedule-faults fuzz soak soak-faults mutants
    flips)

proof_part() {
    local part=$1 percent=$2
    case $part in
    model) prove model model full ;;
    schedules) prove schedules schedules "$(of "$percent" $proof_schedules)" ;;
    schedule-faults) prove schedule-faults schedules faults ;;
    fuzz) prove fuzz fuzz "$(of "$percent" $proof_fuzz)" ;;
    soak) prove soak soak "$(of "$percent" $proof_soak)" ;;
    soak-faults) prove soak-faults soak faults ;;
    mutants) prove mutants mutants all ;;
    flips) prove flips mutants flips ;;
    *) prove "$part" "$part" ;;
    esac
}

# run_proof [PERCENT] [PART...]
run_proof() {
    local percent=100 part
    if [[ ${1-} =~ ^[1-9][0-9]*$ ]]; then
        percent=$1
        shift
    fi
    for part in "$@"; do
        [[ " ${proof_parts[*]} " == *" $part "* ]] ||
            wrong_usage "proof: unknown part $part; there are ${proof_parts[*]}"
    done
    (($#)) || set -- "${proof_parts[@]}"
    mkdir -p .build/proof
    proof_setting | tee .build/proof/setting
    for part in "$@"; do
        rm -f ".build/proof/$part.log"
        proof_part "$part" "$percent"
    done
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}
