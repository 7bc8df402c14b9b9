import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** RoundTrip BOOTSTRAP TOPIC: produces five records, asks for offsets, reads from the third; prints what it saw. */
public class RoundTrip {
    public static void main(String[] args) throws Exception {
        TopicPartition partition = new TopicPartition(args[1], 0);
        List<String> produced = produce(args[0], partition);
        try (KafkaConsumer<String, String> consumer = consumer(args[0], "read_uncommitted");
                KafkaConsumer<String, String> committed = consumer(args[0], "read_committed")) {
            List<TopicPartition> one = Collections.singletonList(partition);
            Object beginning = consumer.beginningOffsets(one).get(partition);
            Object end = consumer.endOffsets(one).get(partition);
            Object stable = committed.endOffsets(one).get(partition);
            String found = offsetForTime(consumer, partition, 2500);
            String none = offsetForTime(consumer, partition, 9999);
            List<String> read = read(consumer, partition, 2);
            System.out.printf(
                    "{\"produced\": %s, \"beginning\": %s, \"end\": %s, \"stable\": %s, "
                            + "\"found\": %s, \"none\": %s, \"read\": %s, \"out_of_range\": %s}%n",
                    produced, beginning, end, stable, found, none, read,
                    isOutOfRange(consumer, partition, 99));
        }
    }

    private static List<String> produce(String servers, TopicPartition partition) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("acks", "all");
        config.put("compression.type", "gzip");
        config.put("linger.ms", 50);
        List<String> offsets = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = 0; n < 5; n++) {
                sent.add(producer.send(
                        new ProducerRecord<>(partition.topic(), 0, 1000L * (n + 1), "k" + n, "v" + n)));
            }
            for (Future<RecordMetadata> one : sent) {
                offsets.add(String.valueOf(one.get().offset()));
            }
        }
        return offsets;
    }

    private static KafkaConsumer<String, String> consumer(String servers, String isolation) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "none");
        config.put("isolation.level", isolation);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private static String offsetForTime(KafkaConsumer<String, String> consumer, TopicPartition partition, long time) {
        OffsetAndTimestamp found = consumer.offsetsForTimes(Collections.singletonMap(partition, time)).get(partition);
        return found == null ? "null" : "[" + found.offset() + ", " + found.timestamp() + "]";
    }

    private static List<String> read(KafkaConsumer<String, String> consumer, TopicPartition partition, long offset)
            throws Exception {
        consumer.assign(Collections.singletonList(partition));
        consumer.seek(partition, offset);
        List<String> read = new ArrayList<>();
        for (int attempt = 0; attempt < 100 && read.size() < 3; attempt++) {
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                read.add(String.format(
                        "[%d, %d, \"%s\", \"%s\"]", record.offset(), record.timestamp(), record.key(), record.value()));
            }
        }
        return read;
    }

    private static boolean isOutOfRange(
            KafkaConsumer<String, String> consumer, TopicPartition partition, long offset) throws Exception {
        consumer.seek(partition, offset);
        try {
            for (int attempt = 0; attempt < 20; attempt++) {
                poll(consumer);
            }
            return false;
        } catch (OffsetOutOfRangeException expected) {
            return true;
        }
    }

    /** poll(Duration) came with 2.0, and poll(long) went with 4.0. */
    @SuppressWarnings("unchecked")
    private static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            try {
                return (ConsumerRecords<String, String>)
                        KafkaConsumer.class.getMethod("poll", Duration.class).invoke(consumer, Duration.ofMillis(200));
            } catch (NoSuchMethodException old) {
                return (ConsumerRecords<String, String>)
                        KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 200L);
            }
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            throw (Exception) thrown.getCause();
        }
    }
}
