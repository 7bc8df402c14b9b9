import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Secured FOLDER PREFIX: logs in with each properties file in the folder, and administers with `admin.properties`. */
public class Secured {
    private static final int COUNT = 9;
    private final Path folder;
    private final String name;
    private final String topic;

    private Secured(String folder, String prefix) {
        this.folder = Paths.get(folder);
        name = prefix;
        topic = "orders-" + prefix;
    }

    public static void main(String[] args) throws Exception {
        Secured secured = new Secured(args[0], args[1]);
        try (Stream<Path> files = Files.list(secured.folder)) {
            TreeSet<String> logins = new TreeSet<>();
            files.forEach(file -> logins.add(file.getFileName().toString().replace(".properties", "")));
            for (String login : logins) {
                Properties settings = secured.settings(login);
                if (login.equals("admin")) {
                    Step.run("acls", () -> secured.acls(settings));
                    Step.run("credentials", () -> secured.credentials(settings));
                    Step.run("delegation token", () -> secured.delegationToken(settings));
                } else if (login.startsWith("wrong")) {
                    Step.run(login, () -> secured.refused(settings));
                } else if (login.equals("again")) {
                    Step.run(login, () -> secured.again(settings));
                } else {
                    Step.run(login, () -> secured.allowed(login, settings));
                }
            }
        }
    }

    private Properties settings(String login) throws Exception {
        Properties settings = new Properties();
        try (Reader file = Files.newBufferedReader(folder.resolve(login + ".properties"))) {
            settings.load(file);
        }
        settings.put("client.id", login);
        return settings;
    }

    private static Properties with(Properties settings, String... more) {
        Properties all = new Properties();
        all.putAll(settings);
        for (int n = 0; n < more.length; n += 2) {
            all.put(more[n], more[n + 1]);
        }
        return all;
    }

    private static KafkaProducer<String, String> producer(Properties settings) {
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(Properties settings, String group) {
        Properties all = with(settings, "group.id", group, "auto.offset.reset", "earliest");
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    /** Produces to each partition, and consumes that in a group; another topic and another group are refused. */
    private void allowed(String login, Properties settings) throws Exception {
        TreeSet<String> sent = new TreeSet<>();
        try (KafkaProducer<String, String> producer = producer(settings)) {
            for (int n = 0; n < COUNT; n++) {
                sent.add(login + n);
                producer.send(new ProducerRecord<>(topic, n % 3, null, login + n)).get();
            }
            ProducerRecord<String, String> payment = new ProducerRecord<>("payments", "one");
            Step.refused(() -> producer.send(payment).get(), TopicAuthorizationException.class);
        }
        TreeSet<String> read = new TreeSet<>();
        try (KafkaConsumer<String, String> consumer = consumer(settings, "billing " + name + login)) {
            consumer.subscribe(Collections.singleton(topic));
            Step.await("the records", () -> {
                consumer.poll(Clients.BREATH).forEach(record -> read.add(record.value()));
                return read.containsAll(sent);
            });
            consumer.commitSync();
        }
        try (KafkaConsumer<String, String> consumer = consumer(settings, "billing " + name + login)) {
            consumer.subscribe(Collections.singleton("payments"));
            Clients.refuses(consumer, TopicAuthorizationException.class);
        }
        try (KafkaConsumer<String, String> consumer = consumer(settings, "salaries")) {
            consumer.subscribe(Collections.singleton(topic));
            Clients.refuses(consumer, GroupAuthorizationException.class);
        }
        try (Admin admin = Admin.create(settings)) {
            Step.refused(
                    () -> admin.describeAcls(AclBindingFilter.ANY).values().get(), ClusterAuthorizationException.class);
        }
    }

    private void refused(Properties settings) {
        try (Admin admin = Admin.create(settings)) {
            Step.refused(() -> admin.describeCluster().nodes().get(), AuthenticationException.class);
        }
    }

    /** Produces for longer than a session lasts. */
    private void again(Properties settings) throws Exception {
        try (KafkaProducer<String, String> producer = producer(with(settings, "retries", "0"))) {
            for (int n = 0; n < 100; n++) {
                producer.send(new ProducerRecord<>(topic, n % 3, null, "again")).get();
                Thread.sleep(50);
            }
        }
    }

    private void acls(Properties settings) throws Exception {
        AclBinding acl = new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, name + "-invoices", PatternType.PREFIXED),
                new AccessControlEntry("User:" + name, "*", AclOperation.WRITE, AclPermissionType.ALLOW));
        AclBindingFilter ofTopic = new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.TOPIC, name + "-invoices-1", PatternType.MATCH),
                acl.toFilter().entryFilter());
        try (Admin admin = Admin.create(settings)) {
            admin.createAcls(Collections.singleton(acl)).all().get();
            Step.await("the ACL", () -> !admin.describeAcls(ofTopic).values().get().isEmpty());
            Step.same("described", Clients.list(acl.toString()), admin.describeAcls(ofTopic).values().get().stream()
                    .map(AclBinding::toString).collect(Collectors.toList()));
            Step.same("deleted", 1, admin.deleteAcls(Collections.singleton(ofTopic)).all().get().size());
            Step.await("no ACL", () -> admin.describeAcls(ofTopic).values().get().isEmpty());
        }
    }

    /** Creates a user with a SCRAM credential, changes its password, and deletes it. */
    private void credentials(Properties settings) throws Exception {
        ScramMechanism mechanism = ScramMechanism.SCRAM_SHA_256;
        try (Admin admin = Admin.create(settings)) {
            for (String password : new String[] {"first", "second"}) {
                admin.alterUserScramCredentials(Collections.singletonList(new UserScramCredentialUpsertion(
                        name, new ScramCredentialInfo(mechanism, 4096), password))).all().get();
                Step.await("a login", () -> logsIn(settings, name, password, ""));
            }
            Step.holds("the first password is refused", !logsIn(settings, name, "first", ""));
            Step.same("iterations", 4096, admin.describeUserScramCredentials(Collections.singletonList(name))
                    .all().get().get(name).credentialInfos().get(0).iterations());
            admin.alterUserScramCredentials(Collections.singletonList(
                    new UserScramCredentialDeletion(name, mechanism))).all().get();
            Step.await("no login", () -> !logsIn(settings, name, "second", ""));
        }
    }

    private void delegationToken(Properties settings) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            DelegationToken token = admin.createDelegationToken().delegationToken().get();
            String id = token.tokenInfo().tokenId();
            String hmac = token.hmacAsBase64String();
            Step.await("a login", () -> logsIn(settings, id, hmac, "tokenauth=true"));
            Step.same("owner", "User:admin",
                    admin.describeDelegationToken().delegationTokens().get().get(0).tokenInfo().owner().toString());
            Step.holds("renewed", admin.renewDelegationToken(token.hmac()).expiryTimestamp().get() > 0);
            admin.expireDelegationToken(token.hmac()).expiryTimestamp().get();
            Step.await("no login", () -> !logsIn(settings, id, hmac, "tokenauth=true"));
        }
    }

    private static boolean logsIn(Properties settings, String user, String password, String more) throws Exception {
        String options = String.format("username=\"%s\" password=\"%s\" %s", user, password, more);
        Properties changed = with(settings, "sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config",
                "org.apache.kafka.common.security.scram.ScramLoginModule required " + options + ";");
        try (Admin admin = Admin.create(changed)) {
            return !admin.describeCluster().nodes().get().isEmpty();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof AuthenticationException) {
                return false;
            }
            throw failed;
        }
    }
}
