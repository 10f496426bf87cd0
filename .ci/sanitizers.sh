# SPDX-License-Identifier: MIT
# Builds with sanitizers beyond those of build.sh: meson options, and the suites that run clean.
# Sourced after build.sh.

# MemorySanitizer (clang 19): no read of uninitialised memory. The libraries that are linked are not
# instrumented: tests/outside.h marks what liburcu and the C library hand over. Only without the
# command (-Dcli=disabled): all that jansson and zlib write would be uninitialised.
# shellcheck disable=SC2034 # the configurations of `./dev test` use them
sanitize_memory=('-Db_sanitize=memory' -Db_lundef=false
    "-Dc_args=['-fsanitize-memory-track-origins','-D_GNU_SOURCE','-include','$PWD/tests/outside.h']")
# shellcheck disable=SC2034
suites_memory='unit property stress fuzz'

# AddressSanitizer and UndefinedBehaviorSanitizer of clang 19, with sanitize_address of build.sh.
# shellcheck disable=SC2034
suites_address_clang='unit property fuzz'

# ThreadSanitizer of gcc 12, with sanitize_thread of build.sh. Its runtime cannot follow two of the
# tests, which start threads after a fork of many: f1_a_child_of_busy_threads of unit_fork and
# a_child_begins_with_empty_queues of unit_waiters. clang's can, so only clang's is a configuration.
