# SPDX-License-Identifier: MIT
# Static analysis of `./dev analyze`: what reads the sources for faults and takes longer than the
# checks of `./dev lint`. Sourced by dev.
#
# Each analyzer is first given a source with a fault of a kind that it must find; only one that
# does is believed when it finds nothing in ours. A complaint is mended in the code, or NOLINT says
# why not; what clang-tidy is not asked for, and why, stands in .clang-tidy.

# shellcheck disable=SC2034 # dev installs them
packages_analyze=("${packages_run[@]}" clang-19 clang-tidy-19 cppcheck)

analyze_passed=0 analyze_failed=0
analyze_dir=.build/analyze

# The flags of every C file.
analyze_flags() {
    printf '%s\n' -std=c11 -D_GNU_SOURCE -Iinclude -Iengine -Iengine/cli
    pkg-config --cflags liburcu-bp ck libxxhash jansson zlib | tr ' ' '\n'
}

# believed TOOL PART COMMAND...: one line, and into the sums; the command prints nothing, or what
# is wrong, or fails.
believed() {
    local tool=$1 part=$2 start=$SECONDS log=$analyze_dir/$1.$2.log status=0
    shift 2
    "$@" >"$log" 2>&1 || status=$?
    if ((status == 0)) && [[ ! -s $log ]]; then
        printf '   ok  %-12s %-8s (%d s)\n' "$tool" "$part" $((SECONDS - start))
        ((analyze_passed += 1))
    else
        printf '   BAD %-12s %-8s (%d s), status %d\n' "$tool" "$part" $((SECONDS - start)) "$status"
        head -n 60 "$log"
        ((analyze_failed += 1))
    fi
}

# finds TEXT COMMAND...: the command complains of the planted fault, with this in the complaint.
finds() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) || true
    [[ $output == *"$text"* ]] || printf 'the planted fault was not found:\n%s\n' "$output"
}

tidy() {
    # It counts on standard error what it does not show.
    clang-tidy-19 --quiet --warnings-as-errors='*' --header-filter='/(engine|include)/' "$@" -- \
        "${flags[@]}" 2>>"$analyze_dir/clang-tidy.err"
}

# Beyond what is on without being asked for: copies without bounds, values from outside.
clang_analyzer() {
    local source status=0
    for source in "$@"; do
        clang-19 --analyze --analyzer-output text -Xclang -analyzer-werror \
            -Xclang -analyzer-checker=security,unix,optin.core,optin.portability,optin.taint \
            -Xclang -analyzer-disable-checker=security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
            "${flags[@]}" "$source" || status=1
    done
    return $status
}

gcc_analyzer() {
    local source status=0
    for source in "$@"; do
        gcc -O1 -fanalyzer -Werror "${flags[@]}" -c -o /dev/null "$source" || status=1
    done
    return $status
}

# cpp_check LANGUAGE STANDARD FOLDER...: the C or the C++ sources there.
cpp_check() {
    local language=$1 standard=$2 suffix=c sources=()
    shift 2
    [[ $language == c ]] || suffix=cc
    mapfile -t sources < <(find "$@" -name "*.$suffix" | sort)
    ((${#sources[@]})) || return 1
    cppcheck --quiet --language="$language" --std="$standard" --inline-suppr --error-exitcode=1 \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        -D__x86_64__ -D_GNU_SOURCE -Iinclude -Iengine -Iengine/cli -Itests -Itests/model \
        -Itests/conformance -Itests/property -Itests/stress -Ibench "${sources[@]}"
}

plant_faults() {
    mkdir -p "$analyze_dir"/{freed,branch,bounds}
    cat >"$analyze_dir/freed/fault.c" <<'EOF'
#include <stdlib.h>
int fault(int n);
int fault(int n)
{
    int *p = malloc(sizeof *p);
    if (p == NULL)
        return 0;
    *p = n;
    free(p);
    return *p;
}
EOF
    cat >"$analyze_dir/branch/fault.c" <<'EOF'
int fault(int n);
int fault(int n)
{
    if (n > 0)
        return 1;
    else
        return 1;
}
EOF
    cat >"$analyze_dir/bounds/fault.c" <<'EOF'
int fault(int n);
int fault(int n)
{
    int a[2] = {n, n};
    return a[2];
}
EOF
    cp "$analyze_dir/bounds/fault.c" "$analyze_dir/bounds/fault.cc"
}

run_analyze() {
    local flags=() engine=(engine/*.c engine/table/*.c) cli=(engine/cli/*.c)
    plant_faults
    : >"$analyze_dir/clang-tidy.err"
    mapfile -t flags < <(analyze_flags | grep .)
    say "$(clang-19 --version | head -n 1), $(gcc --version | head -n 1), $(cppcheck --version)"

    believed clang-tidy planted finds bugprone-branch-clone tidy \
        --config-file=.clang-tidy "$analyze_dir/branch/fault.c"
    believed clang-tidy engine tidy "${engine[@]}"
    believed clang-tidy cli tidy "${cli[@]}"

    believed clang planted finds 'unix.Malloc' clang_analyzer "$analyze_dir/freed/fault.c"
    believed clang engine clang_analyzer "${engine[@]}"
    believed clang cli clang_analyzer "${cli[@]}"

    believed gcc planted finds analyzer-use-after-free gcc_analyzer "$analyze_dir/freed/fault.c"
    believed gcc engine gcc_analyzer "${engine[@]}"
    believed gcc cli gcc_analyzer "${cli[@]}"

    believed cppcheck planted finds arrayIndexOutOfBounds cpp_check c c11 "$analyze_dir/bounds"
    believed cppcheck engine cpp_check c c11 engine
    believed cppcheck tests cpp_check c c11 tests
    believed cppcheck fuzz cpp_check c c11 fuzz
    believed cppcheck planted++ finds arrayIndexOutOfBounds cpp_check c++ c++17 \
        "$analyze_dir/bounds"
    believed cppcheck bench cpp_check c++ c++17 bench tests/install

    printf '%d passed, %d failed\n' "$analyze_passed" "$analyze_failed"
    ((analyze_failed == 0))
}
