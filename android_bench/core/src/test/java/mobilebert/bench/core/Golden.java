package mobilebert.bench.core;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Vectors the Python side computed, in the folder of system property "golden". */
final class Golden {
  private Golden() {}

  @SuppressWarnings("unchecked")
  static List<Map<String, Object>> rows(String name) throws IOException {
    return (List<Map<String, Object>>) (List<?>) (List<Object>) Json.parse(Files.readText(file(name)));
  }

  static File file(String name) {
    String folder = System.getProperty("golden");
    if (folder == null) {
      throw new IllegalStateException("run with -Dgolden=FOLDER; tests/android_bench/test_phone_core.py writes the vectors");
    }
    return new File(folder, name);
  }

  static double[] doubles(Object list) {
    List<?> values = (List<?>) list;
    double[] found = new double[values.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = ((Number) values.get(i)).doubleValue();
    }
    return found;
  }

  static double number(Object value) {
    return ((Number) value).doubleValue();
  }

  static int[] ints(Object list) {
    double[] values = doubles(list);
    int[] found = new int[values.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = (int) values[i];
    }
    return found;
  }
}
