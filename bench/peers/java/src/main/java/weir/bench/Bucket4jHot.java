// SPDX-License-Identifier: MIT
package weir.bench;

import io.github.bucket4j.Bucket;

/** One bucket and no table, for traces of one key. */
final class Bucket4jHot extends Subject {
    private final Bucket bucket;

    Bucket4jHot(Trace trace, boolean given) {
        needsTokens(trace);
        if (!trace.hot()) {
            throw Refusal.cannot("bucket4j_hot is one bucket, this trace has %d keys", trace.keys);
        }
        bucket = Bucket4jKeyed.bucket(Bucket4jKeyed.bandwidth(trace), Bucket4jKeyed.clock(given));
    }

    @Override
    boolean allow(long key, long n) {
        return bucket.tryConsume(n);
    }
}
