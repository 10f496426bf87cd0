// SPDX-License-Identifier: MIT
/*
 * Rate limiters for the JVM, played on a trace: decisions per second, memory per key.
 *
 *   bucket4j      Bucket4j, a local bucket per key. Lock-free: each decision copies the bucket's
 *                 state, each admitted one puts the copy in its place by compare-and-swap; so it
 *                 makes garbage. Exact: integers, and what is left of a division is kept. Given
 *                 clock through its TimeMeter; own clock: System.nanoTime inside.
 *   bucket4j_hot  one such bucket without a table, for traces of one key.
 *   resilience4j  Resilience4j's AtomicRateLimiter per key, which compares and swaps a state
 *                 object, garbage too. Inexact: it gives burst permissions in each cycle of burst
 *                 * period / limit, all at once, so up to twice the burst around the edge of two
 *                 cycles, and where a token bucket gives tokens one by one it gives none until the
 *                 next cycle. Given clock through the supplier of nanoseconds of RateLimiter.of,
 *                 boxed; own clock: the same with System.nanoTime, which is its default. A thread
 *                 whose swap fails is parked for a nanosecond, which matters on a hot key.
 *                 Limiters are held by number in a map and share one name: its registry would want
 *                 a String for each of a million keys, and is not measured.
 *   guava         Guava's SmoothBursty RateLimiter per key, a mutex in each. Own clock only
 *                 (System.nanoTime in whole microseconds). Inexact: doubles; begins empty; keeps
 *                 up to one second's permits whatever the trace's burst is; lets a request of any
 *                 n go ahead and the next one pay. Since it begins empty, a key asked twice within
 *                 period / limit may be denied at first.
 *
 * All: the map is a ConcurrentHashMap made for as many keys as the trace has (sized beforehand)
 * and a decision pays for the boxing of its key, as long as the JIT does not remove it. Nothing is
 * ever taken out: memory is not bounded, other than by the trace. None has a call for several
 * keys: no batches.
 *
 * The program is given one subject, so that the JIT sees one kind of limiter. It warms up before
 * it is ready: after the pass that fills the table it plays, through the very code that is
 * measured, whole passes for 2 seconds at least, and then until the compilers worked for less than
 * 2 % of half a second (10 seconds at most).
 *
 * bytes_per_key is resident set. The space for new objects has been written to before the first
 * reading, so that it is the long-lived part that counts; a table of some thousand keys is less
 * than what the JVM itself grows by meanwhile, and heap_bytes_per_key is the figure to read there.
 */
package weir.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Properties;

/** The program: arguments, the two kinds of lines that it prints, the lines that it obeys. */
public final class Peers {
    private static final int THREADS_MAX = 1024;
    private static final int BATCH_MAX = 1 << 20;
    private static final double WARM_UP_SECONDS = 2;
    private static final double WARM_UP_SECONDS_MAX = 10;
    private static final double WARM_UP_ROUND_SECONDS = 0.5;
    private static final double COMPILING_SHARE = 0.02;

    private final Arguments arguments;
    private final Trace trace;
    private final boolean given;
    private final Crew crew;
    private final Memory before;
    private final Memory after;

    private Peers(Arguments arguments) {
        this.arguments = arguments;
        given = arguments.clock.equals("given");
        trace = Trace.read(arguments.file, arguments.threads);
        if (!given && trace.admitted != trace.records) {
            throw Refusal.cannot("own clock: the trace denies %d of %d records, real time will not",
                    trace.records - trace.admitted, trace.records);
        }
        Memory.touchYoungSpace();
        before = Memory.collected();
        crew = new Crew(trace, arguments.kind.make().apply(trace, given));
        crew.run(0);
        after = Memory.collected();
    }

    public static void main(String[] words) {
        Locale.setDefault(Locale.ROOT);
        int status = 0;
        try {
            if (words.length == 1 && words[0].equals("--list")) {
                list();
            } else {
                Peers peers = new Peers(new Arguments(words));
                peers.warmUp();
                peers.obey();
            }
        } catch (Refusal refusal) {
            System.err.println("java peers: " + refusal.getMessage());
            status = refusal.status;
        } catch (IOException failure) {
            System.err.println("java peers: " + failure);
            status = 1;
        }
        System.exit(status);
    }

    private static void list() {
        for (Subject.Kind kind : Subject.KINDS) {
            System.out.printf("%s\t%s\t1\t%s %s, Java %s%n", kind.name(),
                    String.join(",", kind.clocks()), kind.library(), version(kind),
                    System.getProperty("java.version"));
        }
    }

    /** Of the library, as the build has it. */
    private static String version(Subject.Kind kind) {
        Properties versions = new Properties();
        try (InputStream from = Peers.class.getResourceAsStream("/versions.properties")) {
            versions.load(from);
        } catch (IOException failure) {
            throw Refusal.cannot("no versions: %s", failure);
        }
        return versions.getProperty(kind.library());
    }

    private static final class Arguments {
        String file;
        Subject.Kind kind;
        int threads = 1;
        String clock;
        int batch = 1;

        Arguments(String[] words) {
            for (int i = 0; i < words.length; i += 2) {
                if (i + 1 == words.length) {
                    throw Refusal.wrong("%s: needs a value, or is no option", words[i]);
                }
                set(words[i], words[i + 1]);
            }
            if (file == null || kind == null) {
                throw Refusal.wrong("usage: --trace FILE --subject NAME [--threads T] "
                        + "[--clock given|own] [--batch B], or --list");
            }
            if (clock == null) {
                clock = kind.clocks().get(0);
            }
            if (!kind.clocks().contains(clock)) {
                throw Refusal.cannot("%s: has no %s clock", kind.name(), clock);
            }
            if (batch != 1) {
                throw Refusal.cannot("%s: has no call for several decisions", kind.name());
            }
        }

        private void set(String option, String value) {
            switch (option) {
                case "--trace" -> file = value;
                case "--subject" -> kind = Subject.KINDS.stream()
                        .filter(k -> k.name().equals(value)).findFirst()
                        .orElseThrow(() -> Refusal.wrong("unknown subject %s", value));
                case "--threads" -> threads = number(option, value, THREADS_MAX);
                case "--batch" -> batch = number(option, value, BATCH_MAX);
                case "--clock" -> {
                    if (!value.equals("given") && !value.equals("own")) {
                        throw Refusal.wrong("--clock: %s is neither given nor own", value);
                    }
                    clock = value;
                }
                default -> throw Refusal.wrong("unknown option %s", option);
            }
        }

        private static int number(String option, String value, int most) {
            if (!value.matches("[0-9]{1,9}") || Integer.parseInt(value) < 1
                    || Integer.parseInt(value) > most) {
                throw Refusal.wrong("%s: %s is no number from 1 to %d", option, value, most);
            }
            return Integer.parseInt(value);
        }
    }

    private void warmUp() {
        double seconds = 0;
        double compiling = 1;
        while (seconds < WARM_UP_SECONDS
                || compiling > COMPILING_SHARE && seconds < WARM_UP_SECONDS_MAX) {
            long before = ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
            Crew.Outcome outcome = crew.run(WARM_UP_ROUND_SECONDS);
            long after = ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
            seconds += outcome.nanos() / 1e9;
            compiling = (after - before) * 1e6 / outcome.nanos();
        }
    }

    private void obey() throws IOException {
        say("{\"ready\": true, \"subject\": \"%s\", \"version\": \"%s\", \"threads\": %d, "
                + "\"clock\": \"%s\", \"batch\": 1, \"keys\": %d, \"records\": %d, "
                + "\"keys_played\": %d, \"bytes_per_key\": %.1f, \"heap_bytes_per_key\": %.1f}",
                arguments.kind.name(), version(arguments.kind), arguments.threads, arguments.clock,
                trace.keys, trace.records, trace.keysPlayed,
                (double) (after.resident() - before.resident()) / trace.keysPlayed,
                (double) (after.heap() - before.heap()) / trace.keysPlayed);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("quit")) {
                return;
            }
            if (!line.matches("run [0-9]{1,6}(\\.[0-9]*)?")) {
                throw Refusal.wrong("neither \"run SECONDS\" nor \"quit\": %s", line);
            }
            tell(crew.run(Double.parseDouble(line.substring(4))));
        }
    }

    private void tell(Crew.Outcome outcome) {
        long decisions = outcome.passes() * trace.records * (trace.hot() ? arguments.threads : 1);
        long least = given ? outcome.passes() * trace.admitted : decisions;
        long most = least;
        if (trace.hot() && (!given || arguments.threads > 1)) {
            long elapsed = given
                    ? (outcome.passes() - 1) * trace.span + trace.lastNow : outcome.nanos();
            least = 0;
            most = Bound.ofOneBucket(trace, elapsed, decisions);
        }
        say("{\"decisions\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"admitted\": %d, "
                + "\"least\": %d, \"most\": %d}", decisions, outcome.nanos() / 1e9,
                outcome.cpuNanos() / 1e9, outcome.admitted(), least, most);
    }

    private static void say(String format, Object... values) {
        System.out.println(String.format(format, values));
        System.out.flush();
    }
}
