package kafka.server;

import kafka.integration.KafkaServerTestHarness;
import kafka.utils.Logging;
import kafkalet.Cluster;
import kafkalet.Internals;
import kafkalet.Stand;

import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandler;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

import java.io.File;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** The class of Kafka's harness in Scala with kafkalet as the brokers; the controller that the harness started is stopped. */
public class KRaftQuorumImplementation implements QuorumImplementation {
    private final File directory;
    private final Logging harness;
    private final String clusterId;
    private Cluster cluster;

    public KRaftQuorumImplementation(ControllerServer controller, FaultHandlerFactory faults, File directory,
            CompletableFuture<Map<Integer, InetSocketAddress>> voters, String clusterId, Logging harness, FaultHandler fault) {
        this.directory = directory;
        this.harness = harness;
        this.clusterId = clusterId;
        controller.shutdown();
    }

    @Override
    public KafkaBroker createBroker(KafkaConfig config, Time time, boolean startup, Option<String> threadNamePrefix) {
        if (cluster == null) cluster = create(config);
        BrokerServer broker = Stand.broker(config.nodeId(), cluster, config);
        if (startup) broker.startup();
        return broker;
    }

    private Cluster create(KafkaConfig first) {
        if (!(harness instanceof KafkaServerTestHarness test)) throw new Internals("broker without the harness of brokers");
        List<KafkaConfig> configs = CollectionConverters.asJava(test.configs());
        Map<Integer, Map<String, String>> brokers = new TreeMap<>();
        for (KafkaConfig config : configs) {
            Map<String, String> values = new TreeMap<>();
            config.originals().forEach((key, value) -> values.put(key, Cluster.text(value)));
            brokers.put(config.nodeId(), values);
        }
        if (!brokers.containsKey(0)) throw new Internals("broker ids that do not begin with 0");
        ListenerName listener = first.interBrokerListenerName();
        SecurityProtocol protocol = first.interBrokerSecurityProtocol();
        BootstrapMetadata features = BootstrapMetadata.fromVersion(MetadataVersion.latestProduction(), "kafkalet");
        return new Cluster(directory.toPath(), clusterId, listener, protocol, features, first.logDirs().size(), brokers);
    }

    public ControllerServer controllerServer() {
        return Stand.controller(cluster, null);
    }

    public String clusterId() {
        return clusterId;
    }

    @Override
    public void shutdown() {
        if (cluster != null) cluster.close();
    }
}
