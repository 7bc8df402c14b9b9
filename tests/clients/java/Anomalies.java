import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java client of the search for anomalies. It does what tests/anomalies/worker.py does.
 * Arguments: ROLE SERVERS TOPIC PARTITIONS ACKS NAME SEED.
 */
public class Anomalies {
    private static final Duration PAUSE = Duration.ofMillis(50);
    private static final int[] RECORDS_PER_STEP = {1, 2, 5};
    private static volatile boolean stopped;

    private static String servers;
    private static String topic;
    private static int partitions;
    private static String acks;
    private static String name;
    private static Random chance;

    public static void main(String[] args) throws Exception {
        servers = args[1];
        topic = args[2];
        partitions = Integer.parseInt(args[3]);
        acks = args[4];
        name = args[5];
        chance = new Random(Long.parseLong(args[6]));
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException error) {
                report("log", quoted(error));
            }
            stopped = true;
        });
        end.setDaemon(true);
        end.start();
        if (args[0].equals("write")) {
            write();
        } else {
            read();
        }
    }

    private static void write() throws InterruptedException {
        int values = 0, transactions = 0;
        for (int session = 1; !stopped; session++) {
            boolean transactional = session % 2 == 0;
            String producerName = name + "-p" + session;
            long ends = System.nanoTime() + (3_000 + chance.nextInt(12_000)) * 1_000_000L;
            KafkaProducer<String, String> producer = null;
            try {
                producer = producer(transactional);
                while (!stopped && System.nanoTime() < ends) {
                    Thread.sleep(PAUSE.toMillis());
                    String transaction = null;
                    if (transactional) {
                        transaction = name + "-x" + ++transactions;
                        producer.beginTransaction();
                    }
                    for (int left = RECORDS_PER_STEP[chance.nextInt(3)]; left > 0; left--) {
                        String value = name + "-" + ++values;
                        int partition = chance.nextInt(partitions);
                        String shown = transaction == null ? "null" : quoted(transaction);
                        report("send", quoted(value), partition, quoted(producerName), shown);
                        producer.send(new ProducerRecord<>(topic, partition, null, value), (metadata, error) -> {
                            if (error == null) {
                                report("acked", quoted(value), metadata.offset());
                            }
                        });
                    }
                    if (transaction == null) {
                        producer.flush();
                    } else if (chance.nextInt(10) < 3) {
                        producer.abortTransaction();
                    } else {
                        report("commit", quoted(transaction));
                        producer.commitTransaction();
                        report("committed", quoted(transaction));
                    }
                }
            } catch (RuntimeException error) {
                report("log", quoted(producerName + ": " + error));
            }
            if (producer != null) {
                producer.close(Duration.ofSeconds(1));
            }
        }
    }

    private static void read() throws InterruptedException {
        KafkaConsumer<String, String> fixed = null;
        KafkaConsumer<String, String> member = null;
        long ends = System.nanoTime();
        int session = 0;
        while (!stopped) {
            try {
                if (System.nanoTime() >= ends) {
                    close(fixed);
                    session++;
                    fixed = consumer(null);
                    List<TopicPartition> all = new ArrayList<>();
                    for (int partition = 0; partition < partitions; partition++) {
                        all.add(new TopicPartition(topic, partition));
                    }
                    fixed.assign(all);
                    fixed.seekToBeginning(all);
                    ends = System.nanoTime() + (6_000 + chance.nextInt(24_000)) * 1_000_000L;
                }
                if (member == null) {
                    member = consumer("readers");
                    member.subscribe(List.of(topic));
                }
                for (ConsumerRecord<String, String> record : fixed.poll(PAUSE)) {
                    String consumerName = quoted(name + "-c" + session);
                    report("poll", consumerName, record.partition(), record.offset(), quoted(record.value()));
                }
                ConsumerRecords<String, String> records = member.poll(PAUSE);
                for (ConsumerRecord<String, String> record : records) {
                    report("member", record.partition(), record.offset(), quoted(record.value()));
                }
                if (!records.isEmpty()) {
                    member.commitSync();
                }
            } catch (RuntimeException error) {
                report("log", quoted(name + "-c" + session + ": " + error));
                ends = System.nanoTime();
                close(member);
                member = null;
                Thread.sleep(PAUSE.toMillis());
            }
        }
        close(fixed);
        close(member);
    }

    private static KafkaProducer<String, String> producer(boolean transactional) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("acks", acks);
        properties.put("enable.idempotence", String.valueOf(acks.equals("all")));
        properties.put("linger.ms", "0");
        properties.put("request.timeout.ms", "10000");
        properties.put("delivery.timeout.ms", "20000");
        properties.put("max.block.ms", "30000");
        if (transactional) {
            properties.put("acks", "all");
            properties.put("enable.idempotence", "true");
            properties.put("transactional.id", name);
            properties.put("transaction.timeout.ms", "10000");
        }
        KafkaProducer<String, String> made =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        if (transactional) {
            try {
                made.initTransactions();
            } catch (RuntimeException error) {
                made.close(Duration.ZERO);
                throw error;
            }
        }
        return made;
    }

    private static KafkaConsumer<String, String> consumer(String group) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        properties.put("isolation.level", "read_committed");
        if (group != null) {
            properties.put("group.id", group);
            properties.put("session.timeout.ms", "6000");
            properties.put("heartbeat.interval.ms", "1000");
            properties.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        }
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    private static void close(KafkaConsumer<?, ?> consumer) {
        if (consumer != null) {
            try {
                consumer.close();
            } catch (RuntimeException error) {
                report("log", quoted("close: " + error));
            }
        }
    }

    private static String quoted(Object text) {
        String escaped = String.valueOf(text).replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ");
        return '"' + escaped + '"';
    }

    private static synchronized void report(String event, Object... details) {
        StringBuilder line = new StringBuilder("[\"" + event + "\", " + System.currentTimeMillis());
        for (Object detail : details) {
            line.append(", ").append(detail);
        }
        byte[] bytes = line.append("]\n").toString().getBytes(StandardCharsets.UTF_8);
        System.out.write(bytes, 0, bytes.length);
        System.out.flush();
    }
}
