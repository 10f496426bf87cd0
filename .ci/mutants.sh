# SPDX-License-Identifier: MIT
# Mutation testing: tests/mutants. Sourced after build.sh, from the top of the tree.

packages_mutants=("${packages_run[@]}" libcmocka-dev
    clang-14 libclang-rt-14-dev llvm-14 python3-clang-19 libclang-19-dev)

# run_mutants [all | flips | ten [SEED] | why NAME | NAME...]: the last line is "N passed, N failed".
run_mutants() {
    # The bindings of libclang are those of the system.
    if [[ ${1-} == flips ]]; then
        shift
        PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/mutants/run_flips.py "$@"
    else
        PYTHONDONTWRITEBYTECODE=1 python3 tests/mutants/run_mutants.py "$@"
    fi
}
