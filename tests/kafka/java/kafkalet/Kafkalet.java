package kafkalet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A {@code kafkalet serve} process and its control API. It uses no threads, because tests look for threads that remain.
 *
 * The system property {@code kafkalet.command} is the command with the options that all processes have, {@code kafkalet.logs}
 * the directory for their output. If {@code kafkalet.journal} is set, each process writes a journal beside its output.
 */
public final class Kafkalet implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final int START_S = 60;

    private final Process process;
    private final Path directory;
    private final Path log;
    private final URI control;
    /** The lines of the ready file: the addresses of the listeners. */
    final Properties ready;

    /** Starts brokers with consecutive ids. Properties of single brokers are those in {@code own}, by id. */
    public Kafkalet(Path directory, List<String> options, List<Path> dataDirectories, Map<String, Short> features,
            Map<String, String> properties, Map<Integer, Map<String, String>> own) {
        this.directory = directory;
        Path logs = Path.of(System.getProperty("kafkalet.logs"));
        String name = "kafkalet-" + ProcessHandle.current().pid() + "-" + COUNT.incrementAndGet();
        log = logs.resolve(name + ".log");
        Path ready = directory.resolve("ready");
        List<String> command = new ArrayList<>(List.of(System.getProperty("kafkalet.command").split(" ")));
        command.addAll(List.of("--brokers", Integer.toString(own.size()), "--config", directory.resolve("server.properties").toString(),
            "--control", "127.0.0.1:0", "--ready-file", ready.toString(), "--exit-with-parent"));
        command.addAll(options);
        dataDirectories.forEach(data -> command.addAll(List.of("--data-dir", data.toString())));
        features.forEach((feature, level) -> command.addAll(List.of("--feature", feature + "=" + level)));
        own.forEach((id, values) -> values.forEach((key, value) -> command.addAll(List.of("--set", id + ":" + key + "=" + value))));
        if (System.getProperty("kafkalet.journal") != null)
            command.addAll(List.of("--journal", logs.resolve(name + ".jsonl").toString()));
        try {
            Files.createDirectories(directory);
            try (OutputStream out = Files.newOutputStream(directory.resolve("server.properties"))) {
                Properties file = new Properties();
                file.putAll(properties);
                file.setProperty("node.id", own.keySet().iterator().next().toString());
                file.store(out, null);
            }
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile())
                .redirectInput(new File("/dev/null"));
            process = builder.start();
            this.ready = waitFor(ready, log);
            control = URI.create(this.ready.getProperty("control"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private Properties waitFor(Path ready, Path log) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_S);
        while (!Files.exists(ready)) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                close();
                throw new IllegalStateException("kafkalet did not start: " + Files.readString(log).strip());
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException error) {
                close();
                throw new IllegalStateException(error);
            }
        }
        Properties lines = new Properties();
        try (var in = Files.newBufferedReader(ready)) {
            lines.load(in);
        }
        return lines;
    }

    /** Returns how many lines of the log match a pattern. */
    double logged(String pattern) {
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(Pattern.compile(pattern).asPredicate()).count();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public JsonNode get(String path) {
        return call("GET", path, "");
    }

    public void post(String path) {
        post(path, "{}");
    }

    public void post(String path, String body) {
        call("POST", path, body);
    }

    public boolean isRunning(int id) {
        return get("/v1/brokers/" + id).get("is_running").asBoolean();
    }

    private JsonNode call(String method, String path, String body) {
        try (Socket socket = new Socket(control.getHost(), control.getPort())) {
            String head = method + " " + path + " HTTP/1.0\r\nHost: " + control.getAuthority()
                + "\r\nContent-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n";
            socket.getOutputStream().write((head + body).getBytes(StandardCharsets.UTF_8));
            String response = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!response.split(" ")[1].startsWith("2")) throw new IllegalStateException(path + ": " + response);
            return JSON.readTree(response.substring(response.indexOf("\r\n\r\n") + 4));
        } catch (IOException error) {
            throw new UncheckedIOException(path, error);
        }
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly();
        } catch (InterruptedException error) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
