package kafkalet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ConnectException;
import java.net.Socket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class KafkaletTest {
    static void connect(String address) throws Exception {
        String[] parts = address.split(":");
        new Socket(parts[0], Integer.parseInt(parts[1])).close();
    }

    static void assertRefused(String address) {
        assertThrows(ConnectException.class, () -> connect(address));
    }

    @Test
    void closedBrokerAcceptsNoConnections() throws Exception {
        Kafkalet broker = Kafkalet.options().start();
        connect(broker.bootstrapServers());
        broker.close();
        assertRefused(broker.bootstrapServers());
        broker.close(); // has no effect
    }

    @Test
    void everyOptionReachesTheBroker() throws Exception {
        Kafkalet.Options options = Kafkalet.options()
                .topics("orders:3", "payments:1:retention.ms=5")
                .property("num.partitions", 2)
                .version("3.9")
                .brokers(2)
                .arguments("--data-dir", "target/kafkalet-data");
        try (Kafkalet broker = options.start()) {
            String[] addresses = broker.bootstrapServers().split(",");
            assertEquals(2, addresses.length);
            connect(addresses[1]);
        }
        assertTrue(new java.io.File("target/kafkalet-data/broker-1").isDirectory());
    }

    @Test
    void refusedOptionIsNamed() {
        Kafkalet.Options options = Kafkalet.options().property("num.partitions", 0);
        IllegalStateException error = assertThrows(IllegalStateException.class, options::start);
        assertEquals(
                "kafkalet ended before it was ready: kafkalet: Invalid value 0 for configuration num.partitions: "
                        + "Value must be at least 1",
                error.getMessage());
    }

    @Test
    void startThatTakesTooLongFails() {
        Kafkalet.Options options = Kafkalet.options().startTimeout(Duration.ZERO);
        IllegalStateException error = assertThrows(IllegalStateException.class, options::start);
        assertEquals("kafkalet was not ready within PT0S", error.getMessage());
    }

    @Test
    void missingCommandIsNamed() {
        Kafkalet.Options options = Kafkalet.options().command("no-such-command", "-m", "kafkalet");
        IllegalStateException error = assertThrows(IllegalStateException.class, options::start);
        assertTrue(error.getMessage().startsWith("cannot run kafkalet: Cannot run program \"no-such-command\""));
    }
}
