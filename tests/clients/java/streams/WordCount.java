import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;

/** WordCount BOOTSTRAP PREFIX FOLDER: Kafka Streams count words exactly once, and go on counting after a restart. */
public class WordCount {
    private final Clients clients;
    private final String name;
    private final String lines;
    private final String counts;
    private final Path folder;
    private final Map<String, String> seen = new HashMap<>();
    private KafkaConsumer<String, String> reader;

    private WordCount(String servers, String prefix, Path state) {
        clients = new Clients(servers);
        name = prefix;
        lines = prefix + "-lines";
        counts = prefix + "-counts";
        folder = state;
    }

    public static void main(String[] args) {
        WordCount steps = new WordCount(args[0], args[1], Path.of(args[2]));
        Step.run("create", steps::create);
        Step.run("count", steps::count);
        Step.run("count on after a restart", steps::countOn);
        Step.run("once each", steps::once);
    }

    private void create() throws Exception {
        try (Admin admin = clients.admin()) {
            admin.createTopics(List.of(new NewTopic(lines, 2, (short) 1), new NewTopic(counts, 1, (short) 1)))
                    .all().get();
            Step.await("topics", () -> admin.listTopics().names().get().containsAll(List.of(lines, counts)));
        }
        reader = clients.reader("read_committed");
        Set<TopicPartition> one = Clients.partitions(counts, 1);
        reader.assign(one);
        reader.seekToBeginning(one);
    }

    private KafkaStreams streams() {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> read = builder.stream(lines);
        read.flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word)
                .count(Materialized.as("words"))
                .toStream()
                .mapValues(count -> Long.toString(count))
                .to(counts);
        Properties config = new Properties();
        config.put("bootstrap.servers", clients.servers);
        config.put("application.id", name);
        config.put("state.dir", folder.toString());
        config.put("processing.guarantee", "exactly_once_v2");
        config.put("replication.factor", "1");
        config.put("session.timeout.ms", "6000"); // Streams do not leave their group when they close
        config.put("heartbeat.interval.ms", "1000");
        config.put("default.key.serde", Serdes.StringSerde.class);
        config.put("default.value.serde", Serdes.StringSerde.class);
        return new KafkaStreams(builder.build(), config);
    }

    private void feed(String... all) {
        try (KafkaProducer<String, String> producer = clients.producer()) {
            for (int n = 0; n < all.length; n++) {
                producer.send(new ProducerRecord<>(lines, n % 2, null, all[n]));
            }
        }
    }

    /** Runs until the counts have come. */
    private void run(String... wanted) throws Exception {
        try (KafkaStreams streams = streams()) {
            long start = System.nanoTime();
            streams.start();
            Step.await("running", () -> streams.state() == KafkaStreams.State.RUNNING);
            System.out.printf("   running after %d ms%n", (System.nanoTime() - start) / 1_000_000);
            Step.await(Arrays.toString(wanted), () -> {
                Step.holds("it runs", streams.state() != KafkaStreams.State.ERROR);
                reader.poll(Clients.BREATH).forEach(record -> seen.put(record.key(), record.value()));
                for (String word : wanted) {
                    if (!word.substring(word.indexOf('=') + 1).equals(seen.get(word.substring(0, word.indexOf('='))))) {
                        return false;
                    }
                }
                return true;
            });
            System.out.printf("   counted after %d ms%n", (System.nanoTime() - start) / 1_000_000);
            Step.holds("closed", streams.close(Duration.ofSeconds(20)));
        }
    }

    private void count() throws Exception {
        feed("the quick brown fox", "jumps over the lazy dog", "the end");
        run("the=3", "quick=1", "dog=1", "end=1", "lazy=1");
    }

    private void countOn() throws Exception {
        feed("the lazy fox", "the dog");
        run("the=5", "lazy=2", "fox=2", "dog=2", "quick=1");
    }

    private void once() throws Exception {
        Map<String, String> wanted = Map.of("the", "5", "quick", "1", "brown", "1", "fox", "2", "jumps", "1",
                "over", "1", "lazy", "2", "dog", "2", "end", "1");
        Step.same("counts", wanted, seen);
        reader.close();
    }
}
