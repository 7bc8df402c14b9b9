package kafkalet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    static void assertMalformed(String text, String message) {
        assertEquals(
                "malformed JSON: " + message,
                assertThrows(IllegalArgumentException.class, () -> Json.read(text)).getMessage());
    }

    @Test
    void objectKeepsTheOrderOfItsNames() {
        Map<?, ?> object = (Map<?, ?>) Json.read(" { \"z\" : 1 , \"a\" : [ ] , \"\" : { } }\r\n\t");
        assertEquals(List.of("z", "a", ""), new ArrayList<>(object.keySet()));
        assertEquals(Map.of("z", 1L, "a", List.of(), "", Map.of()), object);
    }

    @Test
    void listHoldsEveryKindOfValue() {
        assertEquals(
                Arrays.asList(null, true, false, "s", 0L, -1.5, Map.of("a", List.of(1L))),
                Json.read("[null,true,false,\"s\",0,-1.5,{\"a\":[1]}]"));
    }

    @Test
    void integersAreLongsAndOtherNumbersDoubles() {
        assertEquals(Long.MAX_VALUE, Json.read("9223372036854775807"));
        assertEquals(Long.MIN_VALUE, Json.read("-9223372036854775808"));
        assertEquals(9.223372036854775807e18, Json.read("9223372036854775808"));
        assertEquals(0L, Json.read("-0"));
        assertEquals(1.0, Json.read("1.0"));
        assertEquals(100.0, Json.read("1e2"));
        assertEquals(0.125, Json.read("12.5E-2"));
    }

    @Test
    void escapesAreDecoded() {
        assertEquals("\"\\/\b\f\n\r\t", Json.read("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""));
        assertEquals("\u00e9\u00C9\u0000", Json.read("\"\\u00e9\\u00C9\\u0000\""));
    }

    @Test
    void surrogatePairsAreOneCharacter() {
        assertEquals("\uD83D\uDE00", Json.read("\"\\ud83d\\ude00\""));
        assertEquals("\uD83D\uDE00", Json.read("\"\uD83D\uDE00\""));
    }

    @Test
    void loneSurrogateIsKept() {
        assertEquals("\uD83D!", Json.read("\"\\ud83d!\""));
    }

    @Test
    void malformedTextIsRefusedWithThePosition() {
        assertMalformed("", "expected a value at 0, found the end");
        assertMalformed("[1,]", "expected a value at 3, found ']'");
        assertMalformed("[1 2]", "expected ',' at 3, found '2'");
        assertMalformed("[1", "expected ',' at 2, found the end");
        assertMalformed("{\"a\" 1}", "expected ':' at 5, found '1'");
        assertMalformed("{a:1}", "expected '\"' at 1, found 'a'");
        assertMalformed("{\"a\":1,}", "expected '\"' at 7, found '}'");
        assertMalformed("1 2", "expected the end at 2, found '2'");
        assertMalformed("01", "expected the end at 1, found '1'");
        assertMalformed("1.", "expected the end at 1, found '.'");
        assertMalformed("+1", "expected a value at 0, found '+'");
        assertMalformed(".5", "expected a value at 0, found '.'");
        assertMalformed("NaN", "expected a value at 0, found 'N'");
        assertMalformed("nul", "expected a value at 0, found 'n'");
        assertMalformed("\"a", "expected the rest of a string at 2, found the end");
        assertMalformed("\"a\n\"", "expected the rest of a string at 2, found '\n'");
        assertMalformed("\"\\x\"", "expected an escape sequence at 2, found 'x'");
        assertMalformed("\"\\u12\"", "expected an escape sequence at 2, found 'u'");
        assertMalformed("\"\\u+123\"", "expected an escape sequence at 2, found 'u'");
        assertMalformed("\"\\", "expected an escape sequence at 2, found the end");
        assertMalformed("1\u0000", "expected the end at 1, found '\0'");
    }

    @Test
    void depthIsLimited() {
        assertEquals(1L, ((List<?>) Json.read("[".repeat(499) + "[1]" + "]".repeat(499))).size());
        assertMalformed("[".repeat(100_000), "more than 500 levels");
    }

    @Test
    void valuesAreWritten() {
        assertEquals(
                "{\"a\":[null,true,1,2.5,\"s\"]}",
                Json.write(Map.of("a", Arrays.asList(null, true, 1, 2.5f, new StringBuilder("s")))));
        assertEquals("{\"1\":2}", Json.write(Map.of(1, 2L)));
        assertEquals("[]", Json.write(List.of()));
    }

    @Test
    void everyStringSurvivesWritingAndReading() {
        StringBuilder all = new StringBuilder("\uD83D\uDE00");
        for (char each = 0; each < 0xFFFF; each++) {
            all.append(each).append(' '); // a lone surrogate stays alone
        }
        byte[] sent = Json.write(all).getBytes(StandardCharsets.UTF_8);
        assertEquals(all.toString(), Json.read(new String(sent, StandardCharsets.UTF_8)));
    }

    @Test
    void valuesThatJsonLacksAreRefused() {
        assertEquals(
                "JSON cannot represent java.lang.Double NaN",
                assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN)).getMessage());
        assertThrows(IllegalArgumentException.class, () -> Json.write(List.of(new Object())));
    }
}
