package orders;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** A kafkalet broker in a separate process, on a free port. */
final class Kafkalet implements AutoCloseable {
    private final Process process;
    private final String bootstrapServers;

    private Kafkalet(Process process, String bootstrapServers) {
        this.process = process;
        this.bootstrapServers = bootstrapServers;
    }

    /** Start a broker and wait until it is ready. */
    static Kafkalet start() throws IOException {
        Process process = new ProcessBuilder("kafkalet", "serve", "--listen", "127.0.0.1:0", "--log-level", "warning")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        // The broker prints one line when it is ready: kafkalet ready bootstrap=HOST:PORT
        BufferedReader stdout =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = stdout.readLine();
        if (line == null) {
            throw new IOException("kafkalet ended before it was ready");
        }
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy)); // in case close() is never called
        return new Kafkalet(process, line.substring(line.indexOf("bootstrap=") + "bootstrap=".length()));
    }

    String bootstrapServers() {
        return bootstrapServers;
    }

    @Override
    public void close() throws InterruptedException {
        process.destroy(); // SIGTERM
        process.waitFor();
    }
}
