# SPDX-License-Identifier: MIT
# Instructions per call, counted by callgrind, against bench/instructions.baseline: `./dev
# instructions [--update]`. Sourced by dev.
#
# They depend on the compiler and on libraries that are called, not on the machine's load; so a
# change of 3 % and more is one of the code, a gain as well as a loss, and wants a new baseline.

# shellcheck disable=SC2034 # dev installs them
packages_instructions=("${packages_run[@]}" valgrind)

run_instructions() {
    [[ $# -eq 0 || $* == --update ]] || wrong_usage "instructions: --update, or nothing"
    local dir=.build/instructions dumps=.build/instructions/counts status=0
    configure instructions gcc --buildtype=release -Dcli=disabled -Dtests=disabled -Dbench=auto ||
        die "cannot configure"
    ninja -C "$dir" bench/instructions >"$dir.build.log" 2>&1 || {
        show_build_errors "$dir.build.log"
        die "cannot build"
    }
    rm -f "$dumps" "$dumps".[0-9]*
    "${fixed_addresses[@]}" valgrind --tool=callgrind --collect-atstart=no \
        --callgrind-out-file="$dumps" "$dir/bench/instructions" >"$dir.log" 2>&1 || {
        tail -n 20 "$dir.log"
        die "an operation answered otherwise than was due"
    }
    python3 .ci/instructions.py "$dumps" bench/instructions.baseline "$@" \
        "arch=$(uname -m)" "gcc=$(gcc -dumpfullversion)" \
        "libc=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)" \
        "xxhash=$(pkg-config --modversion libxxhash)" "urcu=$(pkg-config --modversion liburcu-bp)" \
        "valgrind=$(valgrind --version | sed 's/valgrind-//')" || status=$?
    ((status == 0))
}
