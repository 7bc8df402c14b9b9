package kafka.server;

import kafka.integration.KafkaServerTestHarness;
import kafka.utils.Logging;
import kafkalet.Cluster;
import kafkalet.Internals;
import kafkalet.Jaas;
import kafkalet.Stand;

import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.fault.FaultHandler;
import org.mockito.Mockito;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

import java.io.File;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** The class of Kafka's harness in Scala with kafkalet as the brokers. */
public class KRaftQuorumImplementation implements QuorumImplementation {
    private final File directory;
    private final Logging harness;
    private final String clusterId;
    private final BootstrapMetadata features;
    private Cluster cluster;
    private KafkaConfig config;

    public KRaftQuorumImplementation(ControllerServer controller, FaultHandlerFactory faults, File directory,
            CompletableFuture<Map<Integer, InetSocketAddress>> voters, String clusterId, Logging harness, FaultHandler fault) {
        this.directory = directory;
        this.harness = harness;
        this.clusterId = clusterId;
        features = controller.bootstrapMetadata();
    }

    @Override
    public KafkaBroker createBroker(KafkaConfig config, Time time, boolean startup, Option<String> threadNamePrefix) {
        if (cluster == null) {
            cluster = create(config);
            this.config = config;
        }
        BrokerServer broker = Stand.broker(config.nodeId(), cluster, config);
        if (startup) broker.startup();
        return broker;
    }

    private Cluster create(KafkaConfig first) {
        if (!(harness instanceof KafkaServerTestHarness test)) throw new Internals("broker without the harness of brokers");
        List<KafkaConfig> configs = CollectionConverters.asJava(test.configs());
        TreeMap<Integer, Map<String, String>> brokers = new TreeMap<>();
        for (KafkaConfig config : configs) {
            Map<String, String> values = Jaas.withProperties(config.originals());
            // kafkalet has one certificate for all brokers of a cluster
            if (!brokers.isEmpty()) {
                values.keySet().removeIf(key -> key.contains("ssl."));
                brokers.firstEntry().getValue().forEach((key, value) -> {
                    if (key.contains("ssl.")) values.put(key, value);
                });
            }
            brokers.put(config.nodeId(), values);
        }
        ListenerName listener = first.interBrokerListenerName();
        SecurityProtocol protocol = first.interBrokerSecurityProtocol();
        return new Cluster(directory.toPath(), clusterId, listener, protocol, features, first.logDirs().size(), brokers, users(test));
    }

    /** Returns the users of SCRAM with which the test formats the cluster. */
    private static List<String> users(QuorumTestHarness test) {
        List<String> users = new ArrayList<>();
        test.addFormatterSettings(Mockito.mock(Formatter.class, call -> {
            String name = call.getMethod().getName();
            if (name.equals("setScramArguments")) users.addAll(call.getArgument(0));
            else if (!name.equals("setClusterId")) throw new Internals("Formatter." + name);
            return call.getMock();
        }));
        return users;
    }

    public ControllerServer controllerServer() {
        return Stand.controller(cluster, config);
    }

    public String clusterId() {
        return clusterId;
    }

    @Override
    public void shutdown() {
        if (cluster != null) cluster.close();
    }
}
