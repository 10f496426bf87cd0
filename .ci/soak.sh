# SPDX-License-Identifier: MIT
# The soak: all mixes of tests/stress/soak.c by real threads, for as long as is asked for. And how
# long it takes to find a fault that was planted. Sourced by dev after build.sh.

packages_soak=("${packages_run[@]}" libcmocka-dev clang-14 libclang-rt-14-dev llvm-14)

# Seconds without an argument: for each of the two programs ten times what `soak faults` took on
# average for the hardest of its faults, at most an hour in all.
soak_seconds=700
soak_programs=(soak soak_points)

soak_options=(-Dwerror=true -Dcli=disabled -Dtests=enabled -Dbench=disabled
    --buildtype=debugoptimized)

# build_soak NAME COMPILER OPTION...: .build/NAME/tests/soak and soak_points, optimised, with
# assertions and debug information.
build_soak() {
    local name=$1 compiler=$2
    shift 2
    configure "$name" "$compiler" "${soak_options[@]}" "$@" || return 1
    ninja -C ".build/$name" "${soak_programs[@]/#/tests/}" >".build/$name.build.log" 2>&1 || {
        show_build_errors ".build/$name.build.log"
        return 1
    }
}

# soak_for SECONDS CONFIGURATION: half of the time with the engine as it ships, half with points.
soak_for() {
    local seconds=$1 name=$2 patience=60 program log status passed=0 failed=0
    case $name in
    gcc) build_soak soak-gcc gcc ;;
    tsan)
        patience=300
        build_soak soak-tsan clang-14 "${sanitize_thread[@]}"
        ;;
    asan)
        patience=300
        build_soak soak-asan gcc "${sanitize_address[@]}"
        ;;
    esac || die "the soak cannot be built"
    for program in "${soak_programs[@]}"; do
        log=.build/$program-$name.log
        say "$program, $name: $(((seconds + 1) / 2)) s"
        sanitized ".build/soak-$name/tests/$program" $(((seconds + 1) / 2)) "$(date +%s)000" \
            "$patience" >"$log" 2>&1 && status=0 || status=$?
        cat "$log"
        # Ended, but not by a mix that failed; or none was played.
        if grep -q '^not ok' "$log"; then status=0; fi
        ((status == 0)) && grep -q '^ok\|^not ok' "$log" || ((failed += 1))
        ((passed += $(grep '^ok' "$log" | grep -vc '# SKIP'),
        failed += $(grep -c '^not ok' "$log"))) || true
    done
    # Always the last line, always of this form: others read it.
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

# ---- faults ----

faults_tree=.build/soak-faults
faults_table=.build/soak-faults.txt

# Makes the copy equal to the tree, and forgets the fault that was in it. What comes back has a new
# time, so that it is built again.
copy_for_faults() {
    local file
    while IFS= read -r -d '' file; do
        cmp -s "$file" "$faults_tree/$file" ||
            { mkdir -p "$faults_tree/${file%/*}" && cp "$file" "$faults_tree/$file"; }
    done < <(find . -path ./.build -prune -o -path ./.git -prune -o -type f -print0)
    mkdir -p "$faults_tree/.build"
}

# found_after PROGRAM SEED SECONDS: tenths of a second until it fails; of a soak that does not,
# nothing. In the tree of the fault.
found_after() {
    local log=.build/fault.log
    WEIR_SOAK_FIRST=1 ".build/soak-gcc/tests/$1" "$3" "$2" 20 >"$log" 2>&1 || true
    sed -n 's/^# found after \([0-9]*\)\.\([0-9]\) s$/\1\2/p' "$log" | head -n 1
}

# measure_fault PROGRAM NAME SECONDS: plants it, soaks three times, and prints one line: mean, the
# three of them, the mix that found it. In tenths of a second, what was not found as SECONDS.
measure_fault() (
    program=$1 name=$2 seconds=$3
    sum=0 found=0 each=() mix=none
    cd "$faults_tree" || exit 1
    soak_programs=("$program")
    soak_options=("${soak_options[@]/-Dwerror=true/-Dwerror=false}")
    python3 tests/stress/soak_faults.py plant "$name" . || exit 1
    build_soak soak-gcc gcc || exit 1
    for seed in 1000 2000000 3000000000; do
        tenths=$(found_after "$program" "$seed" "$seconds")
        if [[ -n $tenths ]]; then
            ((found += 1))
            tenths=$((10#$tenths))
            each+=("$((tenths / 10)).$((tenths % 10))")
            mix=$(sed -n 's/^# \([a-z0-9_]*\): round .* failed.*/\1/p' .build/fault.log | head -n 1)
        else
            tenths=$((seconds * 10))
            each+=(none)
        fi
        ((sum += tenths)) || true
    done
    printf '%d %d %s %s\n' $((sum / 3)) "$found" "$(IFS=/ && echo "${each[*]}")" "$mix"
)

# soak_faults SECONDS PATTERN
soak_faults() {
    local seconds=$1 pattern=$2 program name mean found each mix hardest=0 passed=0 failed=0 suggested line
    printf '%-40s %-12s %12s  %-18s %s\n' fault program 'found, s' each 'by, in the end' |
        tee "$faults_table"
    while read -r program name; do
        copy_for_faults
        line=$(measure_fault "$program" "$name" "$seconds") || {
            printf '%s\n' "$line"
            say "$name: cannot be planted or built"
            ((failed += 1))
            continue
        }
        read -r mean found each mix <<<"$line"
        printf '%-40s %-12s %12s  %-18s %s\n' "$name" "$program" \
            "$([[ $found == 3 ]] || echo '> ')$((mean / 10)).$((mean % 10))" "$each" "$mix" |
            tee -a "$faults_table"
        ((mean <= hardest)) || hardest=$mean
        if [[ $found == 3 ]]; then ((passed += 1)); else ((failed += 1)); fi
    done < <(python3 tests/stress/soak_faults.py list | grep -e "$pattern")
    copy_for_faults
    suggested=$((2 * hardest < 3600 ? 2 * hardest : 3600))
    printf 'the hardest takes %d.%d s; ten times that for each program, at most an hour: %d s\n' \
        $((hardest / 10)) $((hardest % 10)) "$suggested"
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0 && passed > 0))
}

# run_soak [SECONDS [gcc|tsan|asan]], run_soak faults [SECONDS_EACH [PATTERN]]
run_soak() {
    local what=${1-$soak_seconds}
    if [[ $what == faults ]]; then
        [[ ${2-60} =~ ^[1-9][0-9]*$ ]] && (($# <= 3)) ||
            wrong_usage "soak faults: for how many seconds each?"
        soak_faults "${2-60}" "${3-.}"
        return
    fi
    [[ $what =~ ^[1-9][0-9]*$ ]] && (($# <= 2)) || wrong_usage "soak: for how many seconds?"
    [[ ${2-gcc} =~ ^(gcc|tsan|asan)$ ]] || wrong_usage "soak: unknown configuration $2"
    soak_for "$what" "${2-gcc}"
}
