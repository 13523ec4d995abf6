package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON text to and from Map, List, String, Number, Boolean and null, as strict as Python's json module, which Android's
 * org.json is not: it lets through {a:1}, {"a"=1}, [1,], 01, 0x10, NaN, comments and text after the end.
 *
 * <p>A number without a point or an exponent is read as Long or, beyond its range, BigInteger; any other as Double.
 * Written, an integral Double up to 2^53 loses its ".0".
 */
public final class Json {
  /** No artefact comes near; compiled code took up to 6 KB of the stack a level, of which an Android thread has 1 MB. */
  private static final int DEEPEST = 64;

  /** Python's limit: reading a number takes time that grows with the square of its length. */
  private static final int MOST_DIGITS = 4300;

  /** Of a whole number that fits a long whatever its digits are. */
  private static final int LONG_DIGITS = 18;

  private static final String HEXADECIMAL = "0123456789abcdef";

  private final String text;
  private int at;
  private int depth;

  private Json(String text) {
    this.text = text;
  }

  /** The value of a JSON text. Throws {@link JsonException} with the position of the first fault. */
  @Nullable
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
  @NonNull
  public static Map<String, Object> parseObject(String text) throws JsonException {
    Object value = parse(text);
    if (!(value instanceof Map)) {
      throw new JsonException("a JSON object was expected");
    }
    return (Map<String, Object>) value;
  }

  /** Compact JSON of a value; non-ASCII characters stay as they are. Numbers must be finite. */
  @NonNull
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
      case '[':
        if (++depth > DEEPEST) {
          throw fault("values nested deeper than " + DEEPEST);
        }
        Object nested = next == '{' ? object() : array();
        depth--;
        return nested;
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
    int start = ++at;
    while (peek() != '"' && text.charAt(at) != '\\' && text.charAt(at) >= ' ') {
      at++;
    }
    if (text.charAt(at) == '"') { // most have no escape, and are a part of the text
      return text.substring(start, at++);
    }
    StringBuilder out = new StringBuilder().append(text, start, at);
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
    int code = 0;
    for (int end = at + 4; at < end; at++) {
      int digit = text.charAt(at) < 128 ? Character.digit(text.charAt(at), 16) : -1;
      if (digit < 0) {
        throw fault("an unknown escape");
      }
      code = 16 * code + digit;
    }
    return (char) code;
  }

  /** By JSON's grammar; a point or an exponent without digits is left for whoever reads on. */
  private Number number() throws JsonException {
    int start = at;
    boolean negative = at < text.length() && text.charAt(at) == '-';
    int first = negative ? at + 1 : at;
    int whole = first < text.length() && text.charAt(first) == '0' ? first + 1 : digits(first);
    if (whole == first) {
      throw fault("a value was expected");
    }
    int end = whole;
    if (isOneOf(".", end) && digits(end + 1) > end + 1) {
      end = digits(end + 1);
    }
    if (isOneOf("eE", end)) {
      int power = isOneOf("-+", end + 1) ? end + 2 : end + 1;
      end = digits(power) > power ? digits(power) : end;
    }
    String found = text.substring(start, end);
    if (end == whole && whole - first > MOST_DIGITS) {
      throw fault("a number of more than " + MOST_DIGITS + " digits");
    }
    at = end;
    if (end > whole) {
      return Double.valueOf(found);
    }
    if (whole - first <= LONG_DIGITS) {
      return Long.valueOf(found);
    }
    BigInteger value = new BigInteger(found);
    return value.bitLength() < Long.SIZE ? (Number) value.longValue() : value;
  }

  /** Where the digits end that begin at a place. */
  private int digits(int from) {
    int end = from;
    while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
      end++;
    }
    return end;
  }

  private boolean isOneOf(String characters, int place) {
    return place < text.length() && characters.indexOf(text.charAt(place)) >= 0;
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
    if (!(value instanceof Double || value instanceof Float)) {
      out.append(value);
      return;
    }
    double number = value.doubleValue();
    if (Double.isNaN(number) || Double.isInfinite(number)) {
      throw new IllegalArgumentException("JSON has no " + number);
    }
    boolean exact = number == Math.rint(number) && Math.abs(number) < 9007199254740992.0;
    out.append(exact ? Long.toString((long) number) : Double.toString(number));
  }

  private static void appendString(StringBuilder out, String value) {
    out.append('"');
    for (int i = 0; i < value.length(); i++) {
      char next = value.charAt(i);
      int control = "\b\f\n\r\t\"\\".indexOf(next);
      if (control >= 0) {
        out.append('\\').append("bfnrt\"\\".charAt(control));
      } else if (next < ' ' || isLoneSurrogate(value, i)) {
        out.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
          out.append(HEXADECIMAL.charAt(next >> shift & 15));
        }
      } else {
        out.append(next);
      }
    }
    out.append('"');
  }

  /** Half of a pair, which UTF-8 has no bytes for. */
  private static boolean isLoneSurrogate(String text, int place) {
    char one = text.charAt(place);
    if (Character.isHighSurrogate(one)) {
      return place + 1 == text.length() || !Character.isLowSurrogate(text.charAt(place + 1));
    }
    return Character.isLowSurrogate(one) && (place == 0 || !Character.isHighSurrogate(text.charAt(place - 1)));
  }
}
