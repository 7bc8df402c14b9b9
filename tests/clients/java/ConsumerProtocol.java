import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.errors.UnsupportedAssignorException;

/** ConsumerProtocol BOOTSTRAP PREFIX: groups of the consumer protocol (KIP-848) and static members, with 4.x. */
public class ConsumerProtocol {
    private final Clients clients;
    private final Admin admin;
    private final String name;
    private final String topic;
    private final Set<TopicPartition> all;

    private ConsumerProtocol(String servers, String prefix) {
        clients = new Clients(servers);
        admin = clients.admin();
        name = prefix;
        topic = prefix + "-one";
        all = Clients.partitions(topic, 3);
    }

    public static void main(String[] args) {
        ConsumerProtocol steps = new ConsumerProtocol(args[0], args[1]);
        Step.run("resume", steps::resume);
        Step.run("two members", steps::twoMembers);
        Step.run("assignors", steps::assignors);
        Step.run("pattern", steps::pattern);
        Step.run("static members", steps::staticMembers);
        Step.run("classic static members", steps::classicStaticMembers);
        Step.run("migration", steps::migration);
        Step.run("offsets in a transaction", steps::offsetsInTransaction);
        steps.admin.close();
    }

    private KafkaConsumer<String, String> member(String group, String... more) {
        String[] config = new String[more.length + 4];
        System.arraycopy(more, 0, config, 4, more.length);
        config[0] = "group.protocol";
        config[1] = "consumer";
        config[2] = "group.id";
        config[3] = name + "-" + group;
        return clients.consumer(config);
    }

    private KafkaConsumer<String, String> classic(String group, String... more) {
        String[] config = new String[more.length + 4];
        System.arraycopy(more, 0, config, 4, more.length);
        config[0] = "heartbeat.interval.ms";
        config[1] = "200";
        config[2] = "group.id";
        config[3] = name + "-" + group;
        return clients.consumer(config);
    }

    private void create(String topic) throws Exception {
        admin.createTopics(Collections.singleton(new NewTopic(topic, 3, (short) 1))).all().get();
        Step.await("topic " + topic, () -> admin.listTopics().names().get().contains(topic));
    }

    private ConsumerGroupDescription describe(String group) throws Exception {
        return admin.describeConsumerGroups(List.of(name + "-" + group)).all().get().get(name + "-" + group);
    }

    private void resume() throws Exception {
        create(topic);
        try (KafkaProducer<String, String> producer = clients.producer()) {
            for (int n = 0; n < 300; n++) {
                producer.send(new ProducerRecord<>(topic, n % 3, null, "value " + n));
            }
        }
        Set<String> values = new HashSet<>();
        try (KafkaConsumer<String, String> member = member("resume", "max.poll.records", "20")) {
            Clients.join(member, topic, all).forEach(record -> values.add(record.value()));
            Step.await("some records", () -> {
                member.poll(Clients.BREATH).forEach(record -> values.add(record.value()));
                return values.size() >= 100;
            });
            member.commitSync();
        }
        int before = values.size();
        Step.holds("some are left", before < 300);
        try (KafkaConsumer<String, String> member = member("resume")) {
            List<ConsumerRecord<String, String>> rest = Clients.join(member, topic, all);
            Step.await("the rest", () -> {
                member.poll(Clients.BREATH).forEach(rest::add);
                return rest.size() >= 300 - before;
            });
            rest.forEach(record -> values.add(record.value()));
            Step.same("values", 300, values.size());
            Step.same("records after a restart", 300 - before, rest.size());
            member.commitSync();
            for (TopicPartition partition : all) {
                Step.same("committed", 100L, member.committed(all).get(partition).offset());
            }
        }
    }

    private void twoMembers() throws Exception {
        try (KafkaConsumer<String, String> one = member("pair", "client.id", "one")) {
            Clients.join(one, topic, all);
            try (KafkaConsumer<String, String> two = member("pair", "client.id", "two")) {
                two.subscribe(Set.of(topic));
                Clients.settle("two members share", Clients.share(all), one, two);
                ConsumerGroupDescription found = describe("pair");
                Step.same("type", GroupType.CONSUMER, found.type());
                Step.same("state", GroupState.STABLE, found.groupState());
                Step.same("assignor", "uniform", found.partitionAssignor());
                Step.holds("epochs", found.groupEpoch().get() >= 2 && found.targetAssignmentEpoch().get() >= 2);
                Map<String, Set<TopicPartition>> assigned = new HashMap<>();
                for (MemberDescription member : found.members()) {
                    assigned.put(member.clientId(), member.assignment().topicPartitions());
                    Step.same("target", member.assignment(), member.targetAssignment().get());
                    Step.same("not upgraded", true, member.upgraded().get());
                }
                Step.same("assignments", Map.of("one", one.assignment(), "two", two.assignment()), assigned);
            }
            Clients.settle("one member has all", Clients.share(all), one);
        }
        Step.same("state", GroupState.EMPTY, describe("pair").groupState());
    }

    private void assignors() throws Exception {
        try (KafkaConsumer<String, String> member = member("range", "group.remote.assignor", "range")) {
            Clients.join(member, topic, all);
            Step.same("assignor", "range", describe("range").partitionAssignor());
        }
        try (KafkaConsumer<String, String> member = member("nobody", "group.remote.assignor", "nobody")) {
            member.subscribe(Set.of(topic));
            Clients.refuses(member, UnsupportedAssignorException.class);
        }
    }

    private void pattern() throws Exception {
        SubscriptionPattern both = new SubscriptionPattern(name + "-(one|two)");
        try (KafkaConsumer<String, String> one = member("pattern");
                KafkaConsumer<String, String> two = member("pattern")) {
            one.subscribe(both);
            Clients.settle("the topic that exists", Clients.share(all), one);
            two.subscribe(both);
            Clients.settle("two members share", Clients.share(all), one, two);
            create(name + "-two");
            Set<TopicPartition> more = Clients.partitions(name + "-two", 3);
            more.addAll(all);
            Clients.settle("the new topic", Clients.share(more), one, two);
            two.unsubscribe();
            Clients.settle("without the other", Clients.share(more), one);
        }
        try (KafkaConsumer<String, String> member = member("pattern")) {
            member.subscribe(new SubscriptionPattern("(broken"));
            Clients.refuses(member, InvalidRegularExpression.class);
        }
    }

    private void staticMembers() throws Exception {
        KafkaConsumer<String, String> two = member("static", "group.instance.id", "two");
        try (KafkaConsumer<String, String> one = member("static", "group.instance.id", "one")) {
            one.subscribe(Set.of(topic));
            two.subscribe(Set.of(topic));
            Clients.settle("two members share", Clients.share(all), one, two);
            try (KafkaConsumer<String, String> other = member("static", "group.instance.id", "two")) {
                other.subscribe(Set.of(topic));
                Clients.refuses(other, UnreleasedInstanceIdException.class);
            }
            Set<TopicPartition> before = new HashSet<>(two.assignment());
            int epoch = describe("static").groupEpoch().get();
            two.close();
            Step.same("members while one is away", 2, describe("static").members().size());
            try (KafkaConsumer<String, String> again = member("static", "group.instance.id", "two")) {
                Clients.join(again, topic, before);
                Step.same("epoch", epoch, describe("static").groupEpoch().get());
                again.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            }
            Clients.settle("one member has all", Clients.share(all), one);
        }
    }

    private void classicStaticMembers() throws Exception {
        KafkaConsumer<String, String> two = classic("classic", "group.instance.id", "two");
        try (KafkaConsumer<String, String> one = classic("classic", "group.instance.id", "one")) {
            one.subscribe(Set.of(topic));
            two.subscribe(Set.of(topic));
            Clients.settle("two members share", Clients.share(all), one, two);
            Set<TopicPartition> before = new HashSet<>(two.assignment());
            two.close();
            Step.same("members while one is away", 2, describe("classic").members().size());
            two = classic("classic", "group.instance.id", "two");
            Clients.join(two, topic, before);
            try (KafkaConsumer<String, String> other = classic("classic", "group.instance.id", "two")) {
                Clients.join(other, topic, before);
                Clients.refuses(two, FencedInstanceIdException.class);
            }
            Set<MemberToRemove> gone = Set.of(new MemberToRemove("two"));
            admin.removeMembersFromConsumerGroup(
                    name + "-classic", new RemoveMembersFromConsumerGroupOptions(gone)).all().get();
            Clients.settle("one member has all", Clients.share(all), one);
        } finally {
            two.close();
        }
    }

    private void migration() throws Exception {
        try (KafkaConsumer<String, String> old = classic("moving")) {
            Clients.join(old, topic, all);
            Step.same("type", GroupType.CLASSIC, describe("moving").type());
            try (KafkaConsumer<String, String> young = member("moving")) {
                young.subscribe(Set.of(topic));
                Clients.settle("both protocols share", Clients.share(all), old, young);
                Step.same("type", GroupType.CONSUMER, describe("moving").type());
                Map<Boolean, Integer> upgraded = new HashMap<>();
                for (MemberDescription member : describe("moving").members()) {
                    upgraded.merge(member.upgraded().get(), 1, Integer::sum);
                }
                Step.same("upgraded", Map.of(true, 1, false, 1), upgraded);
            }
            Clients.settle("one member has all", Clients.share(all), old);
            Step.same("type", GroupType.CLASSIC, describe("moving").type());
        }
    }

    private void offsetsInTransaction() throws Exception {
        TopicPartition from = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = member("copier");
                KafkaProducer<String, String> producer = clients.producer("transactional.id", name)) {
            producer.initTransactions();
            Clients.join(consumer, topic, all);
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(Map.of(from, new OffsetAndMetadata(5, "five")), consumer.groupMetadata());
            producer.commitTransaction();
            Step.await("the offset", () -> {
                OffsetAndMetadata found = consumer.committed(Set.of(from)).get(from);
                return found != null && found.offset() == 5 && found.metadata().equals("five");
            });
        }
    }
}
