package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** The members of a JSON object, each taken with its type and range: mobilebert_runtime/checked.py, check for check. */
final class Fields {
  final Map<?, ?> data;
  private final String where;

  Fields(Object data, String where) throws IOException {
    this.where = where;
    if (!(data instanceof Map)) {
      throw fault("has the wrong type, not an object");
    }
    this.data = (Map<?, ?>) data;
  }

  /** The object that a JSON file holds. */
  static Fields read(File file) throws IOException {
    String text = Files.readText(file);
    try {
      return new Fields(Json.parse(text), file.getName());
    } catch (JsonException error) {
      throw new IOException(
          file.getName() + ": can't be read as JSON (" + error.getMessage() + "); export the artefact again", error);
    }
  }

  /** What to throw about this object. */
  IOException fault(String text) {
    return new IOException(where + ": " + text + "; export the artefact again");
  }

  /** A member that may be null. */
  boolean isNull(String name) throws IOException {
    if (!data.containsKey(name)) {
      throw fault("field " + name + " is missing");
    }
    return data.get(name) == null;
  }

  /** A member that older files may lack. */
  boolean has(String name) {
    return data.containsKey(name);
  }

  /** Is a member null or not there at all? `tokenizers` reads both alike. */
  boolean lacks(String name) {
    return data.get(name) == null;
  }

  /** Is a member this text? */
  boolean is(String name, String text) {
    return text.equals(data.get(name));
  }

  /** Are these members there, each of a type? */
  boolean holds(Class<?> kind, String... names) {
    for (String name : names) {
      if (!kind.isInstance(data.get(name))) {
        return false;
      }
    }
    return true;
  }

  /** Throws where there are other members than these: a setting that is not known would be ignored. */
  Fields only(String... names) throws IOException {
    for (Object name : data.keySet()) {
      if (!Arrays.asList(names).contains(name)) {
        throw fault("field " + name + " is not known to this version");
      }
    }
    return this;
  }

  /** Any text, empty and with any characters. */
  String anyText(String name) throws IOException {
    return (String) take(name, String.class);
  }

  boolean truth(String name) throws IOException {
    return (Boolean) take(name, Boolean.class);
  }

  /** A truth value that is false where it is null or not there. */
  boolean truthOrFalse(String name) throws IOException {
    return !lacks(name) && truth(name);
  }

  /** A whole number from low to high. */
  int whole(String name, int low, int high) throws IOException {
    Number value = (Number) take(name, Number.class);
    if (value instanceof Double) {
      throw fault("field " + name + " is not a whole number");
    }
    double exact = value.doubleValue();
    if (!(low <= exact && exact <= high)) {
      throw fault(name + " is not from " + low + " to " + high);
    }
    return value.intValue();
  }

  /** Throws unless a member is a whole number that has no sign and so many bits. */
  void checkUnsigned(String name, int bits) throws IOException {
    Number value = (Number) take(name, Number.class);
    BigInteger exact = value instanceof Double ? BigInteger.ONE.negate() : new BigInteger(value.toString());
    if (exact.signum() < 0 || exact.bitLength() > bits) {
      throw fault("field " + name + " is not a whole number of " + bits + " bits");
    }
  }

  /** A finite number from low to high. */
  double number(String name, double low, double high) throws IOException {
    return inRange(name, take(name, Number.class), low, high);
  }

  /** Every member, each a whole number that is an id. */
  Map<String, Integer> ids() throws IOException {
    Map<String, Integer> found = new HashMap<String, Integer>(2 * data.size());
    for (Map.Entry<?, ?> entry : data.entrySet()) {
      String name = (String) entry.getKey();
      Object value = entry.getValue();
      boolean plain = value instanceof Long && (Long) value >= 0 && (Long) value <= Integer.MAX_VALUE;
      found.put(name, plain ? ((Long) value).intValue() : whole(name, 0, Integer.MAX_VALUE));
    }
    return found;
  }

  /** Whole numbers that are ids; so many. */
  int[] wholes(String name, int count) throws IOException {
    double[] values = numbers(name, count, 0, Integer.MAX_VALUE);
    int[] found = new int[count];
    for (int i = 0; i < count; i++) {
      if (list(name).get(i) instanceof Double) {
        throw fault(name + " are not all whole numbers");
      }
      found[i] = (int) values[i];
    }
    return found;
  }

  /** Finite numbers from low to high; so many. */
  double[] numbers(String name, int count, double low, double high) throws IOException {
    List<?> values = list(name);
    if (values.size() != count) {
      throw fault(name + " is not " + count + " numbers");
    }
    double[] found = new double[count];
    for (int i = 0; i < count; i++) {
      found[i] = inRange(name, values.get(i), low, high);
    }
    return found;
  }

  /** A printable text of 1 to 64 characters. */
  String text(String name) throws IOException {
    return printable(name, take(name, String.class), 64);
  }

  /** Different texts of 1 to 200 characters. */
  List<String> texts(String name, int least, int most) throws IOException {
    List<?> values = list(name);
    if (values.size() < least || values.size() > most) {
      throw fault(name + " has " + values.size() + " entries, not " + least + " to " + most);
    }
    List<String> found = new ArrayList<String>();
    for (Object value : values) {
      found.add(printable(name, value, 200));
    }
    if (new HashSet<String>(found).size() < found.size()) {
      throw fault(name + " are not all different");
    }
    return found;
  }

  List<?> list(String name) throws IOException {
    return (List<?>) take(name, List.class);
  }

  /** A member that is an object itself. */
  Fields object(String name) throws IOException {
    return new Fields(take(name, Map.class), where + ": " + name);
  }

  /** Objects, at most so many. */
  List<Fields> objects(String name, int most) throws IOException {
    List<?> values = list(name);
    if (values.size() > most) {
      throw fault(name + " has " + values.size() + " entries, more than " + most);
    }
    List<Fields> found = new ArrayList<Fields>();
    for (Object value : values) {
      found.add(new Fields(value, where + ": " + name));
    }
    return found;
  }

  /** Throws unless a member equals a value as Python's == has it, for which 1, 1.0 and true are the same. */
  void expect(String name, Object expected) throws IOException {
    isNull(name);
    if (!same(data.get(name), expected)) {
      throw fault(name + " is not " + (expected == null ? "null" : Json.write(expected)));
    }
  }

  private Object take(String name, Class<?> kind) throws IOException {
    isNull(name);
    Object value = data.get(name);
    if (!kind.isInstance(value)) {
      throw fault("field " + name + " has the wrong type");
    }
    return value;
  }

  private double inRange(String name, Object value, double low, double high) throws IOException {
    double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
    if (!(low <= number && number <= high)) {
      throw fault(name + " is not from " + low + " to " + high);
    }
    return number;
  }

  /** A value that is a printable text of 1 to so many characters. */
  String printable(String name, Object value, int longest) throws IOException {
    String text = value instanceof String ? (String) value : "";
    int length = text.codePointCount(0, text.length());
    if (text.trim().isEmpty() || length > longest || !Printable.isPrintable(text)) {
      throw fault(name + " is not a text of 1 to " + longest + " printable characters");
    }
    return text;
  }

  private static boolean same(Object found, Object expected) {
    if (found instanceof List && expected instanceof List) {
      List<?> ones = (List<?>) found;
      List<?> others = (List<?>) expected;
      boolean same = ones.size() == others.size();
      for (int i = 0; same && i < others.size(); i++) {
        same = same(ones.get(i), others.get(i));
      }
      return same;
    }
    if (found instanceof Map && expected instanceof Map) {
      Map<?, ?> ones = (Map<?, ?>) found;
      boolean same = ones.keySet().equals(((Map<?, ?>) expected).keySet());
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) expected).entrySet()) {
        same = same && same(ones.get(entry.getKey()), entry.getValue());
      }
      return same;
    }
    Double number = number(expected);
    return number == null ? expected == null ? found == null : expected.equals(found) : number.equals(number(found));
  }

  private static Double number(Object value) {
    if (value instanceof Boolean) {
      return (Boolean) value ? 1.0 : 0.0;
    }
    return value instanceof Number ? (Double) ((Number) value).doubleValue() : null;
  }
}
