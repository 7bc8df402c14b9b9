import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The driver of {@code kafkalet conform client} for the Java client: does what the environment variables ask for. */
public class Driver {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final int NOT_SUPPORTED = 64;
    private static final long CLOSING_MS = 1000;

    private static final String TOPIC = get("KAFKALET_TOPIC");
    private static final String GROUP = get("KAFKALET_GROUP");
    private static final String TRANSACTIONAL_ID = get("KAFKALET_TRANSACTIONAL_ID");
    private static final String RESET = get("KAFKALET_RESET");
    private static final int COUNT = Integer.parseInt(get("KAFKALET_COUNT"));
    private static final long TIMEOUT_MS = (long) (Double.parseDouble(get("KAFKALET_TIMEOUT_S")) * 1000);
    private static final long END_NS = System.nanoTime() + TIMEOUT_MS * 1_000_000;

    public static void main(String[] args) throws Exception {
        tell("client kafka-clients " + version());
        new Timer(true).schedule(new TimerTask() {
            @Override
            public void run() {
                tell("log the client did not close within " + CLOSING_MS + " ms after the timeout");
                Runtime.getRuntime().halt(1);
            }
        }, TIMEOUT_MS + CLOSING_MS);
        boolean succeeded = false;
        try {
            switch (get("KAFKALET_ROLE")) {
                case "produce": succeeded = produce(); break;
                case "consume": succeeded = consume(); break;
                case "transform": succeeded = transform(); break;
                default: System.exit(NOT_SUPPORTED);
            }
        } catch (KafkaException error) {
            tell("error " + reason(error));
        }
        System.exit(succeeded ? 0 : 1);
    }

    private static boolean produce() {
        AtomicInteger acked = new AtomicInteger();
        boolean committed = true;
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            if (TRANSACTIONAL_ID != null) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            for (int number = 0; number < COUNT; number++) {
                String value = String.valueOf(number);
                try {
                    ProducerRecord<byte[], byte[]> record =
                            new ProducerRecord<>(TOPIC, value.getBytes(), value.getBytes());
                    producer.send(record, (metadata, error) -> {
                        if (error == null) {
                            acked.incrementAndGet();
                            tell("acked " + value + " " + metadata.partition() + " " + metadata.offset());
                        } else {
                            tell("failed " + value + " " + reason(error));
                        }
                    });
                } catch (KafkaException error) {
                    tell("failed " + value + " " + reason(error));
                }
            }
            producer.flush();
            if (TRANSACTIONAL_ID != null) {
                committed = commit(producer);
            }
        }
        return committed && acked.get() == COUNT;
    }

    private static boolean commit(KafkaProducer<byte[], byte[]> producer) {
        try {
            producer.commitTransaction();
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException error) {
            throw error; // the producer can only be closed
        } catch (KafkaException error) {
            producer.abortTransaction();
            tell("aborted " + reason(error));
            return false;
        }
        tell("committed");
        return true;
    }

    private static KafkaProducer<byte[], byte[]> producer() {
        Map<String, Object> config = new HashMap<>();
        put(config, "bootstrap.servers", "KAFKA_BOOTSTRAP_SERVERS");
        put(config, "acks", "KAFKALET_ACKS");
        put(config, "enable.idempotence", "KAFKALET_IDEMPOTENCE");
        put(config, "transactional.id", "KAFKALET_TRANSACTIONAL_ID");
        put(config, "request.timeout.ms", "KAFKALET_REQUEST_TIMEOUT_MS");
        put(config, "delivery.timeout.ms", "KAFKALET_DELIVERY_TIMEOUT_MS");
        put(config, "metadata.max.age.ms", "KAFKALET_METADATA_MAX_AGE_MS");
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static boolean consume() throws InterruptedException {
        int count = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(new HashMap<>())) {
            if (GROUP == null) {
                assignAllPartitions(consumer);
            } else {
                consumer.subscribe(List.of(TOPIC));
            }
            while (count < COUNT && hasTime()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    tell(record);
                    count++;
                }
            }
        }
        return count >= COUNT;
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> config) {
        config.put("auto.offset.reset", "earliest");
        put(config, "bootstrap.servers", "KAFKA_BOOTSTRAP_SERVERS");
        put(config, "group.id", "KAFKALET_GROUP");
        put(config, "group.instance.id", "KAFKALET_INSTANCE_ID");
        put(config, "auto.offset.reset", "KAFKALET_RESET");
        put(config, "isolation.level", "KAFKALET_ISOLATION");
        put(config, "request.timeout.ms", "KAFKALET_REQUEST_TIMEOUT_MS");
        put(config, "session.timeout.ms", "KAFKALET_SESSION_TIMEOUT_MS");
        put(config, "heartbeat.interval.ms", "KAFKALET_HEARTBEAT_INTERVAL_MS");
        put(config, "auto.commit.interval.ms", "KAFKALET_AUTO_COMMIT_INTERVAL_MS");
        put(config, "metadata.max.age.ms", "KAFKALET_METADATA_MAX_AGE_MS");
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void assignAllPartitions(KafkaConsumer<byte[], byte[]> consumer)
            throws InterruptedException {
        List<PartitionInfo> found;
        while ((found = consumer.partitionsFor(TOPIC)).isEmpty() && hasTime()) {
            Thread.sleep(200);
        }
        List<TopicPartition> partitions = new ArrayList<>();
        for (PartitionInfo info : found) {
            partitions.add(new TopicPartition(TOPIC, info.partition()));
        }
        consumer.assign(partitions);
        if ("none".equals(RESET)) {
            consumer.seekToBeginning(partitions);
        }
    }

    private static boolean transform() {
        int count = 0;
        Map<String, Object> config = new HashMap<>(Map.of("enable.auto.commit", "false"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(config);
                KafkaProducer<byte[], byte[]> producer = producer()) {
            consumer.subscribe(List.of(TOPIC));
            producer.initTransactions();
            while (count < COUNT && hasTime()) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
                if (!records.isEmpty() && copy(records, consumer, producer)) {
                    count += records.count();
                }
            }
        }
        return count >= COUNT;
    }

    /** Copies the records of one poll in one transaction; returns false if it was aborted. */
    private static boolean copy(ConsumerRecords<byte[], byte[]> records, KafkaConsumer<byte[], byte[]> consumer,
            KafkaProducer<byte[], byte[]> producer) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            tell(record);
            offsets.put(new TopicPartition(TOPIC, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.beginTransaction();
        try {
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(get("KAFKALET_OUTPUT_TOPIC"), record.key(), record.value()));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException error) {
            throw error; // the producer can only be closed
        } catch (KafkaException error) {
            producer.abortTransaction();
            tell("aborted " + reason(error));
            consumer.committed(offsets.keySet()).forEach((partition, committed) -> {
                if (committed == null) {
                    consumer.seekToBeginning(List.of(partition));
                } else {
                    consumer.seek(partition, committed);
                }
            });
            return false;
        }
        tell("committed " + records.count());
        return true;
    }

    private static String get(String variable) {
        String value = System.getenv(variable);
        return value == null || value.isEmpty() ? null : value;
    }

    private static void put(Map<String, Object> config, String setting, String variable) {
        if (get(variable) != null) {
            config.put(setting, get(variable));
        }
    }

    private static boolean hasTime() {
        return System.nanoTime() < END_NS;
    }

    private static synchronized void tell(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void tell(ConsumerRecord<byte[], byte[]> record) {
        tell("record " + record.partition() + " " + record.offset() + " " + shown(record.value()));
    }

    private static String shown(byte[] value) {
        if (value == null) {
            return "\\N";
        }
        StringBuilder text = new StringBuilder();
        for (byte each : value) {
            boolean plain = each > ' ' && each < 127 && each != '\\';
            text.append(plain ? String.valueOf((char) each) : String.format("\\x%02x", each));
        }
        return text.toString();
    }

    private static String version() throws IOException {
        Properties properties = new Properties();
        try (InputStream stream = KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        return properties.getProperty("version");
    }

    private static String reason(Throwable error) {
        return error.toString().replaceAll("\\s+", " ");
    }
}
