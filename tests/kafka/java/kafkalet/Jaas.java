package kafkalet;

import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.JaasContext;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

import javax.security.auth.login.AppConfigurationEntry;

/** The JAAS configuration of the JVM, which the tests in Scala use, as properties of listeners. */
public final class Jaas {
    private static final Map<String, String> MODULES = Map.of("PLAIN", "plain.PlainLoginModule", "OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule",
        "SCRAM-SHA-256", "scram.ScramLoginModule", "SCRAM-SHA-512", "scram.ScramLoginModule");

    private Jaas() {
    }

    /** Returns properties as text, with those for the mechanisms of each listener. */
    public static Map<String, String> withProperties(Map<String, ?> properties) {
        Map<String, String> text = new TreeMap<>();
        properties.forEach((key, value) -> text.put(key, Cluster.text(value)));
        for (String entry : text.getOrDefault("listener.security.protocol.map", "").split(",")) {
            String[] parts = entry.strip().split(":");
            if (parts.length == 2 && parts[1].startsWith("SASL_")) addJaas(text, new ListenerName(parts[0]), properties);
        }
        return text;
    }

    private static void addJaas(Map<String, String> properties, ListenerName listener, Map<String, ?> configs) {
        String prefix = "listener.name." + listener.value().toLowerCase(Locale.ROOT) + ".";
        String mechanisms = properties.getOrDefault(prefix + "sasl.enabled.mechanisms", properties.getOrDefault("sasl.enabled.mechanisms", ""));
        for (String mechanism : mechanisms.split(",")) {
            String module = MODULES.get(mechanism.strip());
            String key = prefix + mechanism.strip().toLowerCase(Locale.ROOT) + ".sasl.jaas.config";
            if (module == null || properties.containsKey(key)) continue;
            JaasContext context;
            try {
                context = JaasContext.loadServerContext(listener, mechanism.strip(), configs);
            } catch (IllegalArgumentException missing) {
                continue;
            }
            for (AppConfigurationEntry entry : context.configurationEntries()) {
                if (!entry.getLoginModuleName().endsWith("." + module)) continue;
                StringBuilder jaas = new StringBuilder("org.apache.kafka.common.security." + module + " required");
                entry.getOptions().forEach((name, value) -> jaas.append(" ").append(name).append("=\"").append(value).append("\""));
                properties.put(key, jaas + ";");
            }
        }
    }
}
