// SPDX-License-Identifier: MIT
package weir.bench;

import java.math.BigInteger;

/** What one token bucket gives at most. */
final class Bound {
    private Bound() {
    }

    /** Tokens that are there or come within so many ns, or the decisions if they are fewer. */
    static long ofOneBucket(Trace trace, long elapsed, long decisions) {
        BigInteger come = BigInteger.valueOf(trace.limit).multiply(BigInteger.valueOf(elapsed))
                .divide(BigInteger.valueOf(trace.period));
        long nMin = Math.max(1, trace.nMin);
        return come.add(BigInteger.valueOf(trace.burst)).divide(BigInteger.valueOf(nMin))
                .min(BigInteger.valueOf(decisions)).longValueExact();
    }
}
