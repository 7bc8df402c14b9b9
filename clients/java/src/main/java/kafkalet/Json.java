package kafkalet;

import static java.util.stream.Collectors.joining;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * JSON texts and their values: {@code Map}, {@code List}, {@code String}, {@code Long}, {@code Double}, {@code Boolean}
 * and null. Integers that do not fit into a long are doubles. A lone surrogate is written as an escape sequence.
 */
final class Json {
    private static final int MAX_DEPTH = 500;
    private static final Pattern LITERAL =
            Pattern.compile("true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private static final Pattern HEX = Pattern.compile("[0-9a-fA-F]{4}");

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Returns the value of a JSON text. Throws IllegalArgumentException if it is malformed. */
    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.peek();
        if (json.at < text.length()) {
            throw json.malformed("the end");
        }
        return value;
    }

    private Object value() {
        switch (peek()) {
            case '{':
                Map<String, Object> object = new LinkedHashMap<>();
                items('}', () -> {
                    String name = string();
                    expect(':');
                    object.put(name, value());
                });
                return object;
            case '[':
                List<Object> list = new ArrayList<>();
                items(']', () -> list.add(value()));
                return list;
            case '"':
                return string();
            default:
                return literal();
        }
    }

    private void items(char end, Runnable item) {
        at++;
        if (++depth > MAX_DEPTH) {
            throw new IllegalArgumentException("malformed JSON: more than " + MAX_DEPTH + " levels");
        }
        for (boolean isFirst = true; peek() != end; isFirst = false) {
            if (!isFirst) {
                expect(',');
            }
            item.run();
        }
        at++;
        depth--;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        expect('"');
        while (true) {
            char next = at < text.length() ? text.charAt(at) : 0;
            if (next < ' ') {
                throw malformed("the rest of a string");
            }
            at++;
            if (next == '"') {
                return string.toString();
            }
            string.append(next == '\\' ? escaped() : next);
        }
    }

    private char escaped() {
        char kind = at < text.length() ? text.charAt(at) : 0;
        Matcher hex = match(HEX, at + 1);
        int known = "\"\\/bfnrt".indexOf(kind);
        if (known < 0 && (kind != 'u' || hex == null)) {
            throw malformed("an escape sequence");
        }
        at = known < 0 ? hex.end() : at + 1;
        return known < 0 ? (char) Integer.parseInt(hex.group(), 16) : "\"\\/\b\f\n\r\t".charAt(known);
    }

    private Object literal() {
        Matcher literal = match(LITERAL, at);
        if (literal == null) {
            throw malformed("a value");
        }
        at = literal.end();
        switch (literal.group()) {
            case "true", "false":
                return Boolean.valueOf(literal.group());
            case "null":
                return null;
            default:
                try {
                    return Long.valueOf(literal.group());
                } catch (NumberFormatException e) {
                    return Double.valueOf(literal.group());
                }
        }
    }

    private Matcher match(Pattern pattern, int start) {
        Matcher matcher = pattern.matcher(text).region(Math.min(start, text.length()), text.length());
        return matcher.lookingAt() ? matcher : null;
    }

    /** Skips white space, and returns the next character, or 0 at the end. */
    private char peek() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw malformed("'" + wanted + "'");
        }
        at++;
    }

    private IllegalArgumentException malformed(String wanted) {
        String found = at < text.length() ? "'" + text.charAt(at) + "'" : "the end";
        return new IllegalArgumentException("malformed JSON: expected " + wanted + " at " + at + ", found " + found);
    }

    /** Returns a value as JSON. Accepts numbers of any type. Throws IllegalArgumentException for other values. */
    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> quoted(String.valueOf(entry.getKey())) + ":" + write(entry.getValue()))
                    .collect(joining(",", "{", "}"));
        }
        if (value instanceof Collection<?> list) {
            return list.stream().map(Json::write).collect(joining(",", "[", "]"));
        }
        if (value instanceof CharSequence) {
            return quoted(value.toString());
        }
        boolean isFinite = value instanceof Number number && Double.isFinite(number.doubleValue());
        if (value == null || value instanceof Boolean || isFinite) {
            return String.valueOf(value);
        }
        throw new IllegalArgumentException("JSON cannot represent " + value.getClass().getName() + " " + value);
    }

    private static String quoted(String string) {
        StringBuilder json = new StringBuilder("\"");
        string.codePoints().forEach(point -> {
            boolean isLoneSurrogate = Character.getType(point) == Character.SURROGATE;
            if (point < ' ' || point == '"' || point == '\\' || isLoneSurrogate) {
                json.append(String.format("\\u%04x", point));
            } else {
                json.appendCodePoint(point);
            }
        });
        return json.append('"').toString();
    }
}
