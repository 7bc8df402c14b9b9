import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Encodes messages with Kafka's own classes: reads lines of [name, version, values], prints lines of hexadecimal. */
public class Frames {
    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode message = mapper.readTree(line);
            try {
                byte[] data = encode(message.get(0).asText(), (short) message.get(1).asInt(), message.get(2));
                System.out.println(HexFormat.of().formatHex(data));
            } catch (ReflectiveOperationException | RuntimeException error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                System.err.println(message.get(0).asText() + " v" + message.get(1) + ": " + cause);
                System.exit(1);
            }
        }
    }

    private static byte[] encode(String name, short version, JsonNode values) throws Exception {
        Class<?> converter = converterOf(name);
        Message message = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, values, version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static Class<?> converterOf(String name) throws ClassNotFoundException {
        for (String found : new String[] {"message." + name + "Data", "metadata." + name, "message." + name}) {
            try {
                return Class.forName("org.apache.kafka.common." + found + "JsonConverter");
            } catch (ClassNotFoundException error) {
                // the next kind of message
            }
        }
        throw new ClassNotFoundException(name);
    }
}
