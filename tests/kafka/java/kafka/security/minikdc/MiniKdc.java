package kafka.security.minikdc;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Properties;

/** The class of Kafka's harness without a Kerberos server: it starts one also for tests that log in with other mechanisms. */
public class MiniKdc {
    public MiniKdc(Properties config, File directory) {
    }

    public static Properties createConfig() {
        return new Properties();
    }

    public void start() {
    }

    public void stop() {
    }

    public void createPrincipal(File keytab, List<String> principals) throws IOException {
        Files.write(keytab.toPath(), new byte[0]);
    }
}
