// SPDX-License-Identifier: MIT
package weir.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the process occupies: resident set by the kernel's account, heap in use by the JVM's. */
record Memory(long resident, long heap) {
    private static final int PIECE_BYTES = 1 << 20;
    private static volatile byte[] sink;

    /** After two collections. */
    static Memory collected() {
        System.gc();
        System.gc();
        return new Memory(residentBytes(), heapAfterCollection());
    }

    /** Not what is in use now: that has whole pieces in it that threads were handed since. */
    private static long heapAfterCollection() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .mapToLong(pool -> pool.getCollectionUsage().getUsed()).sum();
    }

    /**
     * Fills the space for new objects several times with garbage, so that its pages are resident
     * before the table is made and are not counted as the table's.
     */
    static void touchYoungSpace() {
        long most = ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getName().contains("Eden"))
                .mapToLong(pool -> pool.getUsage().getCommitted()).sum();
        for (long bytes = 0; bytes < 3 * most; bytes += PIECE_BYTES) {
            sink = new byte[PIECE_BYTES];
        }
        sink = null;
    }

    private static long residentBytes() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
                }
            }
        } catch (IOException failure) {
            throw Refusal.cannot("no resident set: %s", failure);
        }
        throw Refusal.cannot("no resident set in /proc/self/status");
    }
}
