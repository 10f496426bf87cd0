# SPDX-License-Identifier: MIT
# Shell functions of `dev model`: the protocol under the model checkers Relacy and Spin. Sourced
# after .ci/build.sh, from the top of the tree.
# shellcheck shell=bash

# shellcheck disable=SC2034 # read by dev
packages_model=(g++ gcc libc6-dev python3 relacy-dev spin)

model=.build/model

# model_build: the checker of the text as it ships.
model_build() {
    g++ -std=c++11 -O2 -DNDEBUG -fpermissive -w -U__SSE2__ -D_Static_assert=static_assert \
        -Itests/protocol -Iengine -Iinclude tests/protocol/protocol.cc -o "$model/protocol"
}

# model_job NAME COMMAND...: a line of the list of jobs; what it prints is kept as NAME.log.
model_job() {
    local name=$1
    shift
    printf '%s\n' "{ $* ; } >$model/$name.log 2>&1 || echo \"ended with \$?\" >>$model/$name.log"
}

# model_jobs FULL: all that is to be run, each for one processor; the longest first.
model_jobs() {
    local part removals=tests/protocol/removals.py
    if [[ -n $1 ]]; then
        model_job life python3 tests/protocol/life.py -l -o "$model/life"
        for part in 0 1; do
            model_job "scenarios-$part" "$model/protocol" scenarios -b 3 -d 0 -p "$part/2"
            model_job "matrix-$part" "$model/protocol" matrix -b 3 -d 0 -p "$part/24"
        done
        for part in 0 1 2 3; do
            model_job "delays-$part" "$model/protocol" -b 2 -d 1 -p "$part/4"
            model_job "removals-$part" python3 $removals -o "$model/removals-$part" -p "$part/4"
        done
        for part in 0 1 2; do
            model_job "stops-$part" "$model/protocol" -b 1 -d 0 -s "$part" -p "$part/3"
        done
        return
    fi
    model_job life python3 tests/protocol/life.py -o "$model/life"
    for part in 0 1 2; do
        model_job "removals-$part" python3 $removals -q -o "$model/removals-$part" -p "$part/3"
    done
    for part in 0 1; do
        model_job "all-$part" "$model/protocol" -b 1 -d 1 -p "$part/2"
        model_job "more-$part" "$model/protocol" matrix -b 2 -d 0 -p "$part/6"
    done
}

# model_count: passed and failed cases of all logs. A case that is looked at twice counts once; a
# job that ended without saying which case is to blame counts as failed.
model_count() {
    awk '
        {
            name = $0
            sub(/^(not )?ok [0-9]+ - /, "", name)
            if (!sub(/ -- .*/, "", name)) sub(/: .*| (holds|fails) after .*/, "", name)
        }
        /^ok / { seen[name] = 1 }
        /^not ok / { seen[name] = 1; failed[name] = 1; blamed[FILENAME] = 1 }
        /^ended with/ && !(FILENAME in blamed) { seen[FILENAME] = 1; failed[FILENAME] = 1 }
        END {
            for (name in seen)
                if (name in failed) bad++; else good++
            printf "%d passed, %d failed\n", good, bad
            exit bad != 0
        }' "$model"/*.log
}

# run_model [full]: without an argument what takes two processors two minutes: every case with the
# smaller bounds, a third of the matrix with larger ones, and the removals that are found at once.
# full: every case with two preemptions and a delay; with three preemptions every scenario and a
# twelfth of the matrix; a third of the matrix for each thread that may stop anywhere; all removals;
# the large life cycle.
run_model() {
    local full=
    (($# <= 1)) || wrong_usage "model: full, or nothing"
    case ${1-} in
    '') ;;
    full) full=1 ;;
    *) wrong_usage "model: full, or nothing" ;;
    esac
    mkdir -p "$model"
    rm -f "$model"/*.log
    say "building"
    model_build || die "cannot build the model"
    say "checking $("$model/protocol" -l | wc -l) cases, two at a time"
    model_jobs "$full" | xargs -P 2 -d '\n' -n 1 bash -c
    cat "$model"/*.log | grep -E '^not ok|^ended with|fails after.*-b|- life' || true
    awk '/ (holds|fails) after / { for (i = 1; i <= NF; i++) if ($i == "after") sum += $(i + 1) }
        END { printf "%d executions looked at\n", sum }' "$model"/*.log
    model_count
}
