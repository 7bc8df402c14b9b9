package kafkalet;

import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.MetricName;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

import java.util.List;
import java.util.Map;

/** Kafka's metrics of failed authentications and of connections whose session has expired, as kafkalet logs them. */
final class AuthenticationMetrics implements AutoCloseable {
    private static final MetricName KILLED = new MetricName("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount");
    private static final String EXPIRED = "closed; .* after the session expired";
    private static final String FAILED = "closed; .*([Aa]uthenticat|credentials|mechanism|TLS|SSL)";

    private final Metrics metrics = new Metrics();
    private final Kafkalet kafkalet;

    AuthenticationMetrics(Kafkalet kafkalet) {
        this.kafkalet = kafkalet;
        KafkaYammerMetrics.defaultRegistry().removeMetric(KILLED);
        KafkaYammerMetrics.defaultRegistry().newGauge(KILLED, new Gauge<Double>() {
            @Override
            public Double value() {
                return kafkalet.logged(EXPIRED);
            }
        });
    }

    private KafkaMetric metric(String name, String lines) {
        return new KafkaMetric(this, metrics.metricName(name, "socket-server-metrics"), (config, now) -> kafkalet.logged(lines), metrics.config(), Time.SYSTEM);
    }

    /** Returns what Metrics.metrics returns, of which only the values are known. */
    Map<?, ?> all() {
        return Stand.of(Map.class, Map.of("values",
            call -> List.of(metric("expired-connections-killed-count", EXPIRED), metric("failed-authentication-total", FAILED))));
    }

    @Override
    public void close() {
        KafkaYammerMetrics.defaultRegistry().removeMetric(KILLED);
        metrics.close();
    }
}
