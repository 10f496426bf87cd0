# SPDX-License-Identifier: MIT
# The checks of `./dev lint`. Sourced by dev.

. .ci/check_dev.sh

complaints=0

# checked NAME COMMAND...: runs a check that prints nothing, or what is wrong and fails.
checked() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf '   ok  %s\n' "$name"
    else
        printf '   BAD %s\n' "$name"
        head -n 40 <<<"$output"
        ((complaints += 1))
    fi
}

# sources PATTERN...: files of the tree whose names match, NUL between them.
sources() {
    local tests=(-name "$1") pattern
    shift
    for pattern in "$@"; do
        tests+=(-o -name "$pattern")
    done
    find . \( -name .build -o -name .git \) -prune -o -type f \( "${tests[@]}" \) -print0 | sort -z
}

c_style() {
    sources '*.c' '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run -Werror
}

# absent PATTERN [FILE...]: fails and shows where the pattern occurs in files read from stdin.
absent() {
    ! xargs -0 grep -nE "$1"
}

orders_in_one_file() {
    find engine include -name '*.[ch]' ! -path engine/atomic.h -print0 |
        absent 'memory_order_|__atomic_|__sync_|atomic_thread_fence'
}

no_unfinished_notes() {
    sources '*.c' '*.h' '*.cc' '*.py' '*.sh' '*.md' 'meson*' 'dev' '*.[137]' |
        absent '\b(TO[D]O|FIXM[E]|XX[X])\b'
}

no_trailing_blanks() {
    sources '*.c' '*.h' '*.cc' '*.py' '*.sh' '*.md' 'meson*' 'dev' '*.[137]' '*.in' '*.map' |
        absent '[[:blank:]]+$'
}

every_source_has_a_licence() {
    local without
    without=$(sources '*.c' '*.h' '*.cc' '*.py' '*.sh' 'meson*' 'dev' '*.[137]' '*.in' |
        xargs -0 grep -L 'SPDX-License-Identifier: MIT')
    printf '%s' "$without"
    [[ -z $without ]]
}

# listed FILE NAME...: fails and shows the names that the meson.build does not have.
listed() {
    local file=$1 name status=0
    shift
    for name in "$@"; do
        grep -qE "'($name(\.c)?|[a-z]+/test_$name\.c)'" "$file" || {
            printf '%s does not list %s\n' "$file" "$name"
            status=1
        }
    done
    return $status
}

every_source_is_built() {
    local status=0 names=() suite
    shopt -s nullglob
    names=(engine/*.c engine/table/*.c)
    listed engine/meson.build "${names[@]#engine/}" || status=1
    names=(engine/cli/*.c)
    names=("${names[@]#engine/cli/}")
    listed engine/cli/meson.build "${names[@]%.c}" || status=1
    for suite in unit conformance property stress; do
        names=(tests/"$suite"/test_*.c)
        names=("${names[@]#"tests/$suite/test_"}")
        listed tests/meson.build "${names[@]%.c}" || status=1
    done
    names=(tests/unit/cli/test_*.c)
    names=("${names[@]#tests/unit/cli/test_}")
    listed tests/meson.build "${names[@]%.c}" || status=1
    names=(fuzz/fuzz_*.c)
    names=("${names[@]#fuzz/fuzz_}")
    listed fuzz/meson.build "${names[@]%.c}" || status=1
    names=(bench/bench_*.cc)
    names=("${names[@]#bench/}")
    listed bench/meson.build "${names[@]%.cc}" || status=1
    return $status
}

packages_are_told() {
    local file list lists names=() name status=0
    for file in .ci/*.sh; do
        # shellcheck source=/dev/null
        [[ $file == .ci/lint.sh ]] || . "$file"
    done
    for lists in "${!packages_@}"; do
        list="${lists}[@]"
        [[ $lists == packages_arm64 ]] || names+=("${!list}")
    done
    for name in "${names[@]}"; do
        grep -qF " $name " CONTRIBUTING.md || {
            printf 'CONTRIBUTING.md does not name the package %s\n' "$name"
            status=1
        }
    done
    return $status
}

c_checks() {
    cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability \
        --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem \
        -D__x86_64__ -D_GNU_SOURCE -Iinclude -Iengine -Iengine/cli engine
}

pages() {
    local found=(engine/man/*.[137])
    mandoc -T lint -W warning "${found[@]}"
}

shell_checks() {
    shellcheck --external-sources --severity=warning dev .ci/run &&
        # what they define is used by others, and the other way round
        shellcheck --shell=bash --severity=warning --exclude=SC2034,SC2154 .ci/*.sh
}

run_lint() {
    checked 'clang-format' c_style
    checked 'memory orders only in engine/atomic.h' orders_in_one_file
    checked 'no unfinished notes' no_unfinished_notes
    checked 'no trailing blanks' no_trailing_blanks
    checked 'every source names its licence' every_source_has_a_licence
    checked 'every source is built' every_source_is_built
    checked 'every package is told' packages_are_told
    checked 'cppcheck' c_checks
    checked 'man pages' pages
    checked 'shellcheck' shell_checks
    checked 'dev refuses wrong usage' wrong_usage_is_refused
    checked 'dev test ends with the counts' test_ends_with_the_counts
    checked 'dev shows build errors' build_errors_are_shown
    checked 'dev counts what is left out' left_out_is_counted
    ((complaints == 0)) || die "$complaints checks failed"
}
