package mobilebert.bench.core;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON text to and from Map, List, String, Double, Boolean and null.
 *
 * <p>Numbers are read as Double; written, an integral Double up to 2^53 loses its ".0".
 */
public final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** The value of a JSON text. Throws {@link JsonException} with the position of the first fault. */
  public static Object parse(String text) throws JsonException {
    Json reader = new Json(text);
    Object value = reader.value();
    reader.space();
    if (reader.at < text.length()) {
      throw reader.fault("text after the end");
    }
    return value;
  }

  /** The object of a JSON text. */
  @SuppressWarnings("unchecked")
  public static Map<String, Object> parseObject(String text) throws JsonException {
    Object value = parse(text);
    if (!(value instanceof Map)) {
      throw new JsonException("a JSON object was expected");
    }
    return (Map<String, Object>) value;
  }

  /** Compact JSON of a value; non-ASCII characters stay as they are. Numbers must be finite. */
  public static String write(Object value) {
    StringBuilder out = new StringBuilder();
    append(out, value);
    return out.toString();
  }

  private Object value() throws JsonException {
    space();
    char next = peek();
    switch (next) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        return word("true", Boolean.TRUE);
      case 'f':
        return word("false", Boolean.FALSE);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Map<String, Object> object() throws JsonException {
    Map<String, Object> found = new LinkedHashMap<String, Object>();
    at++;
    space();
    if (peek() == '}') {
      at++;
      return found;
    }
    while (true) {
      space();
      if (peek() != '"') {
        throw fault("a key was expected");
      }
      String key = string();
      space();
      take(':');
      found.put(key, value());
      space();
      if (peek() == '}') {
        at++;
        return found;
      }
      take(',');
    }
  }

  private List<Object> array() throws JsonException {
    List<Object> found = new ArrayList<Object>();
    at++;
    space();
    if (peek() == ']') {
      at++;
      return found;
    }
    while (true) {
      found.add(value());
      space();
      if (peek() == ']') {
        at++;
        return found;
      }
      take(',');
    }
  }

  private String string() throws JsonException {
    StringBuilder out = new StringBuilder();
    at++;
    while (peek() != '"') {
      char next = text.charAt(at++);
      if (next < ' ') {
        throw fault("a control character inside a string");
      }
      out.append(next == '\\' ? escape() : next);
    }
    at++;
    return out.toString();
  }

  private char escape() throws JsonException {
    char kind = peek();
    at++;
    int plain = "\"\\/".indexOf(kind);
    if (plain >= 0) {
      return kind;
    }
    int control = "bfnrt".indexOf(kind);
    if (control >= 0) {
      return "\b\f\n\r\t".charAt(control);
    }
    if (kind != 'u' || at + 4 > text.length()) {
      throw fault("an unknown escape");
    }
    try {
      char code = (char) Integer.parseInt(text.substring(at, at + 4), 16);
      at += 4;
      return code;
    } catch (NumberFormatException error) {
      throw fault("an unknown escape");
    }
  }

  private Double number() throws JsonException {
    int start = at;
    while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    try {
      return Double.valueOf(text.substring(start, at));
    } catch (NumberFormatException error) {
      throw fault("a value was expected");
    }
  }

  private Object word(String word, Object value) throws JsonException {
    if (!text.startsWith(word, at)) {
      throw fault("a value was expected");
    }
    at += word.length();
    return value;
  }

  private void space() {
    while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() throws JsonException {
    if (at >= text.length()) {
      throw fault("the text is cut short");
    }
    return text.charAt(at);
  }

  private void take(char expected) throws JsonException {
    if (peek() != expected) {
      throw fault("'" + expected + "' was expected");
    }
    at++;
  }

  private JsonException fault(String what) {
    return new JsonException(what + " at character " + at);
  }

  private static void append(StringBuilder out, Object value) {
    if (value instanceof Map) {
      char separator = '{';
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        out.append(separator);
        appendString(out, (String) entry.getKey());
        append(out.append(':'), entry.getValue());
        separator = ',';
      }
      out.append(separator == '{' ? "{}" : "}");
    } else if (value instanceof Iterable) {
      char separator = '[';
      for (Object item : (Iterable<?>) value) {
        append(out.append(separator), item);
        separator = ',';
      }
      out.append(separator == '[' ? "[]" : "]");
    } else if (value instanceof double[]) {
      List<Object> items = new ArrayList<Object>();
      for (double item : (double[]) value) {
        items.add(item);
      }
      append(out, items);
    } else if (value instanceof String) {
      appendString(out, (String) value);
    } else if (value instanceof Number) {
      appendNumber(out, (Number) value);
    } else if (value == null || value instanceof Boolean) {
      out.append(value);
    } else {
      throw new IllegalArgumentException("JSON has no " + value.getClass().getName());
    }
  }

  private static void appendNumber(StringBuilder out, Number value) {
    double number = value.doubleValue();
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw new IllegalArgumentException("JSON has no " + number);
    }
    boolean integral = value instanceof Integer || value instanceof Long;
    boolean exact = number == Math.rint(number) && Math.abs(number) < 9007199254740992.0;
    out.append(integral ? value.toString() : exact ? Long.toString((long) number) : Double.toString(number));
  }

  private static void appendString(StringBuilder out, String value) {
    out.append('"');
    for (int i = 0; i < value.length(); i++) {
      char next = value.charAt(i);
      int control = "\b\f\n\r\t\"\\".indexOf(next);
      if (control >= 0) {
        out.append('\\').append("bfnrt\"\\".charAt(control));
      } else if (next < ' ') {
        out.append(String.format("\\u%04x", (int) next));
      } else {
        out.append(next);
      }
    }
    out.append('"');
  }
}
