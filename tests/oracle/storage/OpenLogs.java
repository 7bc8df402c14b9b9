import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import kafka.log.UnifiedLog;
import kafka.server.BrokerTopicStats;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * Opens logs with the classes of Apache Kafka 3.9, as LogManager.loadLog does, and closes them again.
 *
 * Reads lines of {path, clean, start, recovery_point, now_ms, config}, prints a line of JSON for each log. A log that was
 * closed cleanly but cannot be opened is opened once more without the clean shutdown marker, like at the next start.
 */
public class OpenLogs {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode wanted = MAPPER.readTree(line);
            ObjectNode found;
            try {
                found = open(wanted, wanted.get("clean").asBoolean(), scheduler);
            } catch (Throwable first) {
                try {
                    if (!wanted.get("clean").asBoolean()) throw first;
                    found = open(wanted, false, scheduler);
                    found.put("first_error", first.toString());
                } catch (Throwable error) {
                    found = MAPPER.createObjectNode();
                    found.put("error", error.toString());
                }
            }
            System.out.println(found);
            System.out.flush();
        }
        System.exit(0);
    }

    private static ObjectNode open(JsonNode wanted, boolean clean, KafkaScheduler scheduler) throws Exception {
        long nowMs = wanted.get("now_ms").asLong();
        Time time = (Time) Proxy.newProxyInstance(OpenLogs.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) ->
                method.getName().equals("milliseconds") ? (Object) nowMs : method.invoke(Time.SYSTEM, arguments));
        Properties properties = new Properties();
        wanted.get("config").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().asText()));
        long begun = System.nanoTime();
        UnifiedLog log = UnifiedLog.apply(
            new File(wanted.get("path").asText()), LogConfig.fromProps(Collections.emptyMap(), properties),
            wanted.get("start").asLong(), wanted.get("recovery_point").asLong(), scheduler, new BrokerTopicStats(false),
            time, 900_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000,
            new LogDirFailureChannel(1), clean, scala.Option.empty(), true, new ConcurrentHashMap<>(), false,
            LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        ObjectNode found = MAPPER.createObjectNode();
        found.put("opened_ms", (System.nanoTime() - begun) / 1_000_000);
        log.updateHighWatermark(log.logEndOffset());
        found.put("start", log.logStartOffset());
        found.put("stable", log.lastStableOffset());
        found.put("end", log.logEndOffset());
        found.put("recovery_point", log.recoveryPoint());
        ArrayNode segments = found.putArray("segments");
        ArrayNode aborted = found.putArray("aborted");
        for (LogSegment segment : log.logSegments()) {
            segments.addArray().add(segment.baseOffset()).add(segment.size());
            for (AbortedTxn each : segment.txnIndex().allAbortedTxns()) {
                aborted.addArray().add(each.producerId()).add(each.firstOffset()).add(each.lastOffset())
                    .add(each.lastStableOffset());
            }
        }
        ArrayNode epochs = found.putArray("epochs");
        for (EpochEntry each : log.leaderEpochCache().get().epochEntries()) {
            epochs.addArray().add(each.epoch).add(each.startOffset);
        }
        ObjectNode producers = found.putObject("producers");
        for (ProducerStateEntry each : new TreeMap<>(log.producerStateManager().activeProducers()).values()) {
            ArrayNode entry = producers.putArray(String.valueOf(each.producerId()));
            entry.add(each.producerEpoch()).add(each.coordinatorEpoch()).add(each.lastTimestamp())
                .add(each.currentTxnFirstOffset().orElse(-1));
            for (BatchMetadata batch : each.batchMetadata()) {
                entry.addArray().add(batch.lastSeq).add(batch.lastOffset).add(batch.offsetDelta).add(batch.timestamp);
            }
        }
        log.flush(true);
        log.close();
        return found;
    }
}
