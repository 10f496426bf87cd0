// SPDX-License-Identifier: MIT
package weir.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;

/**
 * A trace file, read into one list of records for each thread.
 *
 * <p>The file is read twice with plain reads, first to check and count, then into lists of just the
 * right size: neither a mapping nor a copy of the whole stays in memory.
 */
final class Trace {
    /** Longs of a record, in the file and in the lists: key, n, now. */
    static final int WIDTH = 3;

    private static final byte[] MAGIC = "WEIRTRC1".getBytes(StandardCharsets.US_ASCII);
    private static final int HEAD_BYTES = 64;
    private static final int RECORD_BYTES = WIDTH * Long.BYTES;
    private static final int CHUNK_RECORDS = 1 << 15;
    /** What a Java array of longs can hold, a little less than 2^31 of them. */
    private static final long RECORDS_MAX = (Integer.MAX_VALUE - 8) / WIDTH;

    final long records;
    final int keys;
    final long limit;
    final long period;
    final long burst;
    final long span;
    final long admitted;
    /** Keys that occur. */
    final int keysPlayed;
    /** Of the last record. */
    final long lastNow;
    /** The largest n of a record. */
    final long nMax;
    /** The smallest. */
    final long nMin;
    /** Of thread t: key, n, now, key, n, now, ... */
    final long[][] lists;

    private final String name;

    private Trace(String file, FileChannel channel, int threads) throws IOException {
        name = file;
        ByteBuffer head = buffer(HEAD_BYTES);
        fill(channel, head, "the head");
        byte[] magic = new byte[MAGIC.length];
        head.get(magic);
        if (!Arrays.equals(magic, MAGIC)) {
            throw wrong("begins with other bytes than \"WEIRTRC1\"");
        }
        records = field(head, "records", 1, RECORDS_MAX);
        keys = (int) field(head, "keys", 1, Integer.MAX_VALUE - 8);
        limit = field(head, "limit", 1, Long.MAX_VALUE);
        period = field(head, "period", 1, Long.MAX_VALUE);
        burst = field(head, "burst", 1, Long.MAX_VALUE);
        span = field(head, "span", 1, Long.MAX_VALUE);
        admitted = field(head, "admitted", 0, records);
        long bytes = HEAD_BYTES + records * RECORD_BYTES;
        if (channel.size() != bytes) {
            throw wrong("has %d bytes, but %d records make %d", channel.size(), records, bytes);
        }
        Checks checks = new Checks(threads);
        each(channel, checks);
        keysPlayed = checks.seen.cardinality();
        lastNow = checks.last;
        nMax = checks.nMax;
        nMin = checks.nMin;
        lists = new long[threads][];
        for (int t = 0; t < threads; t++) {
            lists[t] = new long[Math.toIntExact(checks.counts[t] * WIDTH)];
        }
        distribute(channel);
    }

    static Trace read(String file, int threads) {
        try (FileChannel channel = FileChannel.open(Path.of(file))) {
            return new Trace(file, channel, threads);
        } catch (IOException failure) {
            throw Refusal.wrong("%s: cannot be read: %s", file, failure);
        }
    }

    /** A trace of one key is played whole by every thread. */
    boolean hot() {
        return keys == 1;
    }

    private Refusal wrong(String format, Object... values) {
        return Refusal.wrong("%s: %s", name, String.format(format, values));
    }

    private long field(ByteBuffer head, String what, long least, long most) {
        long value = head.getLong();
        if (value < least || value > most) {
            throw wrong("%s is %s, must be %d to %d", what, Long.toUnsignedString(value), least,
                    most);
        }
        return value;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** As much as the buffer's limit says. */
    private void fill(FileChannel channel, ByteBuffer into, String what) throws IOException {
        into.position(0);
        while (into.hasRemaining()) {
            if (channel.read(into) < 0) {
                throw wrong("ends within %s", what);
            }
        }
        into.flip();
    }

    private interface Visitor {
        void record(long index, long key, long n, long now);
    }

    private void each(FileChannel channel, Visitor visitor) throws IOException {
        ByteBuffer chunk = buffer(CHUNK_RECORDS * RECORD_BYTES);
        channel.position(HEAD_BYTES);
        for (long at = 0; at < records; at += CHUNK_RECORDS) {
            int count = (int) Math.min(CHUNK_RECORDS, records - at);
            fill(channel, chunk.clear().limit(count * RECORD_BYTES), "its records");
            for (int i = 0; i < count; i++) {
                visitor.record(at + i, chunk.getLong(), chunk.getLong(), chunk.getLong());
            }
        }
    }

    /** The first reading: what is wrong, what occurs, how many records each thread gets. */
    private final class Checks implements Visitor {
        final BitSet seen = new BitSet(keys);
        final long[] counts;
        long last;
        long nMax;
        long nMin = Long.MAX_VALUE;

        Checks(int threads) {
            counts = new long[threads];
        }

        @Override
        public void record(long index, long key, long n, long now) {
            if (key < 0 || key >= keys) {
                throw wrong("record %d: key %s, but there are %d keys", index,
                        Long.toUnsignedString(key), keys);
            }
            if (n < 0 || now < 0) {
                throw wrong("record %d: n or now of more than 63 bits", index);
            }
            if (index == 0 ? now != 0 : now < last) {
                throw wrong("record %d: now is %d after %d", index, now, last);
            }
            if (now >= span) {
                throw wrong("record %d: now is %d, but a pass spans %d", index, now, span);
            }
            seen.set((int) key);
            if (hot()) {
                Arrays.setAll(counts, t -> counts[t] + 1);
            } else {
                counts[(int) (key % counts.length)]++;
            }
            last = now;
            nMax = Math.max(nMax, n);
            nMin = Math.min(nMin, n);
        }
    }

    private void distribute(FileChannel channel) throws IOException {
        int[] ends = new int[lists.length];
        each(channel, (index, key, n, now) -> {
            int first = hot() ? 0 : (int) (key % lists.length);
            int last = hot() ? lists.length - 1 : first;
            for (int t = first; t <= last; t++) {
                lists[t][ends[t]++] = key;
                lists[t][ends[t]++] = n;
                lists[t][ends[t]++] = now;
            }
        });
    }
}
