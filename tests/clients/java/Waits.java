import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Waits BOOTSTRAP TOPIC GROUP: how long the steps of a group member take, in milliseconds, as JSON.
 *
 * <p>The steps are run twice; the figures are those of the second time, with another group.
 */
public class Waits {
    public static void main(String[] args) throws Exception {
        run(args[0], args[1], args[2] + "-first");
        System.out.println("{" + String.join(", ", run(args[0], args[1], args[2])) + "}");
    }

    private static List<String> run(String servers, String topic, String group) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("group.id", group);
        config.put("auto.offset.reset", "earliest");
        List<String> figures = new ArrayList<>();
        long begun = System.nanoTime();
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(Collections.singletonList(topic));
        while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {}
        figures.add(figure("first record", begun));
        begun = System.nanoTime();
        consumer.commitSync();
        figures.add(figure("commit", begun));
        begun = System.nanoTime();
        consumer.close();
        figures.add(figure("close", begun));
        KafkaProducer<String, String> producer = new KafkaProducer<>(
                Collections.singletonMap("bootstrap.servers", servers), new StringSerializer(), new StringSerializer());
        producer.send(new ProducerRecord<>(topic, "value")).get();
        begun = System.nanoTime();
        producer.close();
        figures.add(figure("close of a producer", begun));
        return figures;
    }

    private static String figure(String name, long begun) {
        return String.format(Locale.ROOT, "\"%s\": %.3f", name, (System.nanoTime() - begun) / 1e6);
    }
}
