import java.util.Collection;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.TopicPartition;

/** What kafka-clients 2.x calls otherwise than later releases do. */
final class Api {
    static Map<String, TopicDescription> topics(Admin admin, Collection<String> names) throws Exception {
        return admin.describeTopics(names).all().get();
    }

    static void send(
            Producer<String, String> producer,
            Map<TopicPartition, OffsetAndMetadata> offsets,
            Consumer<String, String> consumer,
            String group) {
        producer.sendOffsetsToTransaction(offsets, group);
    }
}
