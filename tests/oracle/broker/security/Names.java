import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Scanner;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Reads `name DER` and `map RULES NAME`, one per line and with arguments in hexadecimal, and prints one result per line
 * in hexadecimal: the text, or `!` for an error while the rules are read, or `?` for one while they are applied.
 */
public class Names {
    public static void main(String[] arguments) {
        Scanner scanner = new Scanner(System.in, StandardCharsets.UTF_8);
        StringBuilder results = new StringBuilder();
        while (scanner.hasNextLine()) {
            String[] words = scanner.nextLine().split(" ", -1);
            results.append(words[0].equals("name") ? hex(new X500Principal(bytes(words[1])).getName())
                                                   : mapped(text(words[1]), text(words[2])));
            results.append('\n');
        }
        System.out.print(results);
    }

    private static String mapped(String rules, String name) {
        SslPrincipalMapper mapper;
        try {
            mapper = SslPrincipalMapper.fromRules(rules);
        } catch (RuntimeException error) {
            return "!";
        }
        try {
            return hex(mapper.getName(name));
        } catch (Exception error) {
            return "?";
        }
    }

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    private static String text(String hex) {
        return new String(bytes(hex), StandardCharsets.UTF_8);
    }

    private static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }
}
