# SPDX-License-Identifier: MIT
# `./dev bench`: run_bench. Sourced after build.sh, from the top of the tree.
# shellcheck shell=bash

# shellcheck disable=SC2034 # installed by dev
packages_bench=("${packages_run[@]}" g++ libbenchmark-dev libtbb-dev libcuckoo-dev)
packages_peers=(redis-server libhiredis-dev)

bench_out=.build/bench-figures

# Programs of google-benchmark, one after the other; each keeps its figures.
bench_programs() {
    local program name status=0
    for program in bench/bench_*.cc; do
        name=$(basename "$program" .cc)
        say "$name"
        ".build/bench/bench/$name" "$@" --benchmark_out="$bench_out/$name.json" \
            --benchmark_out_format=json || status=1
    done
    return $status
}

# The same traces for weir and others, by turns.
bench_peers() {
    say "peers, on the same traces"
    python3 bench/suite/peers.py --native .build/bench/bench/peers/native/native \
        --write-trace .build/bench/bench/write_trace --json "$bench_out/peers.json" "$@"
}

bench_usage() {
    wrong_usage "bench: $1"
}

# bench_path WORD: as it was meant where dev was started.
bench_path() {
    if [[ $1 == /* ]]; then printf '%s' "$1"; else printf '%s' "${started_in-$PWD}/$1"; fi
}

# run_bench ARGUMENT...: see ./dev help.
run_bench() {
    export PYTHONDONTWRITEBYTECODE=1
    local options=() peers=(--quick) others='' check='' json='' report='' files=() status=0
    local command="./dev bench $*"
    if [[ ${1-} == --compare ]]; then
        (($# >= 3)) || bench_usage "--compare needs two files"
        python3 bench/suite/compare.py "$(bench_path "$2")" "$(bench_path "$3")" "${@:4}"
        return
    fi
    while (($#)); do
        case $1 in
        --full)
            options+=(--full)
            peers=(--full)
            others=1
            ;;
        --peers)
            others=1
            [[ ${peers[*]} != --quick ]] || peers=()
            ;;
        --check) # with --peers none may be skipped
            options+=(--check)
            check=--check
            ;;
        --json | --report)
            [[ -n ${2-} && $2 != -* ]] || bench_usage "$1 needs a name"
            if [[ $1 == --json ]]; then json=$(bench_path "$2"); else report=$(bench_path "$2"); fi
            shift
            ;;
        -*) bench_usage "unknown argument $1" ;;
        *)
            [[ -n $report ]] || bench_usage "unknown argument $1"
            files+=("$(bench_path "$1")")
            ;;
        esac
        shift
    done
    if ((${#files[@]})); then
        [[ -z $others$check$json ]] || bench_usage "of kept figures there is only --report"
        make_page
        return
    fi
    [[ -z $json ]] || { : >>"$json"; } 2>/dev/null || die "cannot write $json" # before it takes minutes
    measure_all || status=1
    [[ -z $json ]] || cp "$bench_out/all.json" "$json" || status=1
    if [[ -n $report ]]; then
        files=("$bench_out/all.json")
        make_page || status=1
    fi
    ((status == 0)) || die "a benchmark failed, or missed a stated ratio"
}

# For run_bench, whose files, report and command it reads.
make_page() {
    python3 bench/suite/report.py "${files[@]}" --out "$report" --command "$command"
}

# For run_bench, whose options, peers, others, check and command it reads.
measure_all() {
    local status=0
    need "${packages_bench[@]}"
    configure bench gcc --buildtype=release -Dbench=enabled -Dtests=disabled ||
        die "cannot configure"
    compile bench || die "cannot build"
    rm -rf "$bench_out"
    mkdir -p "$bench_out"
    if [[ -n $others ]]; then
        need "${packages_peers[@]}"
        peers+=(--peers bench/peers ${check:+--require})
    fi
    peers+=(${check:+"$check"})
    bench_programs "${options[@]}" || status=1
    bench_peers "${peers[@]}" || status=1
    python3 bench/suite/figures.py merge --compiler "$(gcc --version | head -n 1)" \
        --command "$command" --out "$bench_out/all.json" "$bench_out"/*.json || status=1
    return $status
}
