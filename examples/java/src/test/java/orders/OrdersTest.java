package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import kafkalet.Kafkalet;
import kafkalet.KafkaletExtension;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests a producer and a consumer against one broker for all tests of the class. */
class OrdersTest {
    @RegisterExtension
    static final KafkaletExtension kafka = new KafkaletExtension(Kafkalet.options().topics("orders:6"));

    @Test
    @Timeout(value = 30, unit = TimeUnit.SECONDS)
    void orderIsPublished() throws Exception {
        Map<String, Object> producing = Map.of("bootstrap.servers", kafka.bootstrapServers());
        try (var producer = new KafkaProducer<>(producing, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", "7", "{\"id\": 7}")).get();
        }

        Map<String, Object> consuming = Map.of(
                "bootstrap.servers", kafka.bootstrapServers(),
                "group.id", "billing",
                "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(consuming, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            ConsumerRecords<String, String> records = ConsumerRecords.empty();
            while (records.isEmpty()) {
                records = consumer.poll(Duration.ofSeconds(1));
            }
            ConsumerRecord<String, String> order = records.iterator().next();
            assertEquals("7", order.key());
            assertEquals("{\"id\": 7}", order.value());
        }
    }
}
