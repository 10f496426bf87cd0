# SPDX-License-Identifier: MIT
# Shell functions of `dev`: messages, packages, build folders. Sourced from the top of the tree.

say() {
    printf '== %s\n' "$*"
}

die() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

wrong_usage() {
    printf 'dev: %s (see ./dev help)\n' "$*" >&2
    exit 2
}

# installed PACKAGE...: those of them that are, those of a foreign architecture as NAME:ARCHITECTURE.
installed() {
    dpkg-query -W -f '${Package} ${Architecture} ${db:Status-Status}\n' "$@" 2>/dev/null |
        awk -v native="$(dpkg --print-architecture)" '$3 == "installed" {
            print $2 == native || $2 == "all" ? $1 : $1 ":" $2 }'
}

# need PACKAGE...: installs those that are missing. Asks apt nothing when none is.
need() {
    local missing=() root=()
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: taking it that these are here: $*"
        return
    fi
    mapfile -t missing < <(comm -13 <(installed "$@" | sort -u) <(printf '%s\n' "$@" | sort -u))
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "needs root or sudo to install: ${missing[*]}"
        root=(sudo)
    fi
    say "installing ${missing[*]}"
    local log=.build/install.log
    if [[ "${missing[*]}" == *:arm64* ]]; then
        "${root[@]}" dpkg --add-architecture arm64
    fi
    "${root[@]}" apt-get update -qq >"$log" 2>&1 || say "apt-get update failed, trying without"
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        "${missing[@]}" >>"$log" 2>&1 </dev/null || {
        tail -n 20 "$log" >&2
        die "cannot install: ${missing[*]} (whole log: $log)"
    }
}

sanitize_address=('-Db_sanitize=address,undefined' -Db_lundef=false
    -Dc_args=-fno-sanitize-recover=all -Dc_link_args=-fno-sanitize-recover=all)
# Every wrap and every conversion that loses something, but those that are meant.
sanitize_words=('-Db_sanitize=undefined' -Db_lundef=false
    "-Dc_args=['-fsanitize=unsigned-integer-overflow,implicit-conversion','-fno-sanitize-recover=all','-fsanitize-ignorelist=$PWD/tests/words.ignore']"
    "-Dc_link_args=['-fsanitize=unsigned-integer-overflow,implicit-conversion']")
sanitize_thread=(-Db_sanitize=thread -Db_lundef=false)

# configure NAME COMPILER OPTION...: makes .build/NAME, anew if it was made from another place, by
# another compiler or meson, or with other options.
configure() {
    local name=$1 compiler=$2 dir=.build/$1 want
    local cxx=${compiler/#gcc/g++}
    cxx=${cxx/#clang/clang++}
    shift 2
    want=$(printf '%s\n' "$PWD" "$("$compiler" --version | head -n 1)" "$(meson --version)" \
        "${CFLAGS-} ${CXXFLAGS-} ${LDFLAGS-} ${PKG_CONFIG_PATH-}" "$@")
    if [[ -f $dir/build.ninja && -f $dir/configured && $(<"$dir/configured") == "$want" ]]; then
        return 0
    fi
    rm -rf "$dir"
    if ! CC=$compiler CXX=$cxx meson setup "$dir" "$@" >".build/$name.setup.log" 2>&1; then
        tail -n 30 ".build/$name.setup.log"
        return 1
    fi
    printf '%s\n' "$want" >"$dir/configured"
}

# show_build_errors LOG: from the first failed step on, without command lines; where that leaves
# nothing (ninja itself failed), the end of the log.
show_build_errors() {
    sed -n '/^FAILED\|ERROR/,$p' "$1" | grep -vE '^(\[|gcc |g\+\+ |clang)' | tail -n 80 ||
        tail -n 20 "$1"
}

# compile NAME: builds what changed, silently when it works.
compile() {
    local log=.build/$1.build.log
    ninja -C ".build/$1" >"$log" 2>&1 || {
        show_build_errors "$log"
        return 1
    }
}

# Sanitizers of gcc 12 and clang 14 do not start where the kernel spreads mappings widely: without
# address space randomisation they always do. Not every container lets us switch it off.
fixed_addresses=()
if setarch -R true 2>/dev/null; then
    fixed_addresses=(setarch -R)
fi

sanitized() {
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:halt_on_error=1:second_deadlock_stack=1 \
        "${fixed_addresses[@]}" "$@"
}
