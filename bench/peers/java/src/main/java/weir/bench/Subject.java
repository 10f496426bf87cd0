// SPDX-License-Identifier: MIT
package weir.bench;

import java.util.List;
import java.util.function.BiFunction;

/** A peer with its table of limiters, all of the trace's limit. */
abstract class Subject {
    /** The whole answer of the peer; given clocks: at Player.givenNow(). */
    abstract boolean allow(long key, long n);

    /** What the peers can do; make: its table, for a trace, by the given clock or its own. */
    record Kind(String name, String library, List<String> clocks,
            BiFunction<Trace, Boolean, Subject> make) {
    }

    private static final List<String> BOTH = List.of("given", "own");

    /** Method references: a class is loaded when its table is made, not before. */
    static final List<Kind> KINDS = List.of(
            new Kind("bucket4j", "bucket4j", BOTH, (t, given) -> new Bucket4jKeyed(t, given)),
            new Kind("bucket4j_hot", "bucket4j", BOTH, (t, given) -> new Bucket4jHot(t, given)),
            new Kind("resilience4j", "resilience4j", BOTH,
                    (t, given) -> new Resilience4jKeyed(t, given)),
            new Kind("guava", "guava", List.of("own"), (t, given) -> new GuavaKeyed(t)));

    /** For peers that count in 32 bits. */
    static int toInt(long value, String what) {
        if (value > Integer.MAX_VALUE) {
            throw Refusal.cannot("%s is %d, this peer takes 2147483647 at most", what, value);
        }
        return (int) value;
    }

    /** All of these peers refuse to be asked for nothing. */
    static void needsTokens(Trace trace) {
        if (trace.nMin == 0) {
            throw Refusal.cannot("a record has n 0, which this peer takes for an error");
        }
    }
}
