package kafkalet;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A kafkalet broker as a separate process on a free port.
 *
 * <pre>{@code
 * try (Kafkalet broker = Kafkalet.options().topics("orders:6").start()) {
 *     Map<String, Object> config = Map.of("bootstrap.servers", broker.bootstrapServers());
 *     ...
 *     broker.topic("orders").waitFor(1, Match.any().key("7"));
 * }
 * }</pre>
 *
 * The broker is a process of the command that {@code Command.java} finds. It also stops if this JVM ends in any other
 * way, even if it is killed (except on Windows).
 */
public final class Kafkalet extends Control implements AutoCloseable {
    private static final String READY = "kafkalet ready bootstrap=";

    private final Process process;
    private final String bootstrapServers;
    private final String controlUrl;

    private Kafkalet(Process process, String[] addresses) {
        this.process = process;
        this.bootstrapServers = addresses[0];
        this.controlUrl = addresses[1];
    }

    /** Options of a broker, all of them optional. */
    public static Options options() {
        return new Options();
    }

    @Override
    public String bootstrapServers() {
        return bootstrapServers;
    }

    @Override
    public String controlUrl() {
        return controlUrl;
    }

    /** Stops the broker and waits for its process to end. */
    @Override
    public void close() {
        process.destroy(); // SIGTERM
        process.onExit().join();
    }

    /** The options of a broker. They are those of {@code kafkalet serve}. */
    public static final class Options {
        private final List<String> arguments = new ArrayList<>();
        private Duration startTimeout = Duration.ofSeconds(30);
        private List<String> command = List.of();
        private Path pyz;

        private Options() {}

        /** Topics to create, each as {@code NAME[:PARTITIONS[:KEY=VALUE,...]]}, for example {@code orders:6}. */
        public Options topics(String... topics) {
            for (String topic : topics) {
                arguments("--topic", topic);
            }
            return this;
        }

        /** A broker property, by its Kafka name. */
        public Options property(String name, Object value) {
            return arguments("--set", name + "=" + value);
        }

        /** The release of Apache Kafka to emulate, for example {@code 3.9}. By default, every version is accepted. */
        public Options version(String version) {
            return arguments("--kafka-version", version);
        }

        /** The number of brokers; one by default. */
        public Options brokers(int brokers) {
            return arguments("--brokers", Integer.toString(brokers));
        }

        /** Further arguments of {@code kafkalet serve}. */
        public Options arguments(String... more) {
            arguments.addAll(List.of(more));
            return this;
        }

        /** How long {@link #start} waits for the broker; 30 seconds by default. */
        public Options startTimeout(Duration timeout) {
            startTimeout = timeout;
            return this;
        }

        /** The command that runs kafkalet, for example {@code "/opt/venv/bin/python", "-m", "kafkalet"}. */
        public Options command(String... words) {
            command = List.of(words);
            return this;
        }

        /** The path of kafkalet.pyz, which then runs instead of the program {@code kafkalet} on PATH. */
        public Options pyz(Path file) {
            pyz = file;
            return this;
        }

        /**
         * Starts the broker and waits until it accepts connections.
         *
         * @throws IllegalStateException if kafkalet is not found, refuses an option or does not start in time
         */
        public Kafkalet start() {
            Process process = run();
            LastLine errors = new LastLine(process.getErrorStream());
            errors.start();
            try {
                String line = CompletableFuture.supplyAsync(() -> readyLine(process))
                        .get(startTimeout.toMillis(), TimeUnit.MILLISECONDS);
                if (line != null && line.startsWith(READY)) {
                    return new Kafkalet(process, line.substring(READY.length()).split(" control="));
                }
                errors.join();
                throw new IllegalStateException("kafkalet ended before it was ready: " + errors.text);
            } catch (TimeoutException e) {
                process.destroy();
                throw new IllegalStateException("kafkalet was not ready within " + startTimeout, e);
            } catch (ExecutionException e) {
                process.destroy();
                throw new IllegalStateException("kafkalet ended before it was ready", e);
            } catch (InterruptedException e) {
                process.destroy();
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while kafkalet was starting", e);
            }
        }

        private Process run() {
            List<String> words = new ArrayList<>(new Command(System.getenv()).find(command, pyz));
            words.addAll(List.of("serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"));
            words.addAll(List.of("--log-level", "warning"));
            if (!System.getProperty("os.name").startsWith("Windows")) {
                words.add("--exit-with-parent");
            }
            words.addAll(arguments);
            try {
                return new ProcessBuilder(words).start();
            } catch (IOException e) {
                throw new IllegalStateException("cannot run kafkalet: " + e.getMessage(), e);
            }
        }

        private static String readyLine(Process process) {
            try {
                return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
                        .readLine();
            } catch (IOException e) {
                return null;
            }
        }
    }

    /** Copies the broker's log to System.err and keeps the last line, which says why a broker did not start. */
    private static final class LastLine extends Thread {
        private final BufferedReader lines;
        private volatile String text = "it printed nothing on stderr";

        LastLine(InputStream stderr) {
            super("kafkalet-stderr");
            lines = new BufferedReader(new InputStreamReader(stderr, StandardCharsets.UTF_8));
            setDaemon(true);
        }

        @Override
        public void run() {
            try (lines) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    text = line;
                    System.err.println(line);
                }
            } catch (IOException e) {
                // the broker has ended
            }
        }
    }
}
