# SPDX-License-Identifier: MIT
# Whether each kind of fault has the tests that tests/README.md names, and whether they ran and
# passed: `./dev kinds`. Sourced by dev.
#
# A run of `./dev test gcc` counts while no program is newer than it; else the tests are run, those
# under threads at a tenth of their size.

# shellcheck disable=SC2034 # dev installs them
packages_kinds=("${packages_run[@]}" libcmocka-dev)

# ran_since_built LOG: no program of a test is newer, and the log is whole.
ran_since_built() {
    [[ -f $1 && -z $(find .build/gcc/tests -type f -perm -u+x -newer "$1" -print -quit) ]] &&
        grep -q '/ stress_' "$1" && grep -q '/ unit_' "$1" && grep -q '/ conformance_' "$1" &&
        grep -q '/ property_' "$1"
}

run_kinds() {
    local log=.build/gcc/meson-logs/testlog.json out=.build/kinds.tap status=0 suite arguments=()
    configure gcc gcc -Dwerror=true -Dcli=enabled -Dtests=enabled -Dbench=disabled ||
        die "cannot configure"
    compile gcc || die "cannot build"
    if ! ran_since_built "$log"; then
        log=.build/gcc/meson-logs/kinds.json
    fi
    if ! ran_since_built "$log"; then
        say "running the tests"
        for suite in unit conformance property stress; do
            arguments+=(--suite "$suite")
        done
        WEIR_STRESS_SCALE=${WEIR_STRESS_SCALE-10} meson test -C .build/gcc --no-rebuild \
            --timeout-multiplier 4 --logbase kinds "${arguments[@]}" >.build/kinds.test.log 2>&1 ||
            true
    fi
    python3 tests/kinds.py .build/gcc "$log" >"$out" || status=$?
    sed -n -e 's/^ok [0-9]* - /   ok  /p' -e 's/^not ok [0-9]* - /   BAD /p' -e 's/^# /       /p' \
        "$out"
    printf '%d passed, %d failed\n' "$(grep -c '^ok' "$out")" "$(grep -c '^not ok' "$out")"
    ((status == 0))
}
