// SPDX-License-Identifier: MIT
package weir.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Processor time of all threads of the process, the collector's and the compilers' too.
 *
 * <p>The JVM itself tells it in steps of a clock tick (10 ms); the kernel's account of each thread
 * is in ns, brought up to date whenever the thread gives way. Threads that ended are missing there:
 * the start script keeps the JVM from ending its own.
 */
final class Processor {
    private static final Path THREADS = Path.of("/proc/self/task");

    private Processor() {
    }

    static long nanos() {
        Thread.yield();
        long sum = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
            for (Path thread : threads) {
                sum += nanosOf(thread.resolve("schedstat"));
            }
        } catch (IOException failure) {
            sum = 0;
        }
        return sum > 0 ? sum
                : ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getProcessCpuTime();
    }

    /** 0 for one that ended meanwhile. */
    private static long nanosOf(Path schedstat) throws IOException {
        try {
            String text = Files.readString(schedstat);
            return Long.parseLong(text.substring(0, text.indexOf(' ')));
        } catch (NoSuchFileException ended) {
            return 0;
        }
    }
}
