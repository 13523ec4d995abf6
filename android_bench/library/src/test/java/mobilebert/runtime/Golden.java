package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Vectors the Python side computed, in the folder of system property "golden". */
public final class Golden {
  private Golden() {}

  @SuppressWarnings("unchecked")
  public static List<Map<String, Object>> rows(String name) throws IOException {
    return (List<Map<String, Object>>) (List<?>) (List<Object>) Json.parse(Files.readText(file(name)));
  }

  public static File file(String name) {
    String folder = System.getProperty("golden");
    if (folder == null) {
      throw new IllegalStateException("run with -Dgolden=FOLDER; tests/android_bench/test_phone_core.py writes the vectors");
    }
    return new File(folder, name);
  }

  public static double[] doubles(Object list) {
    List<?> values = (List<?>) list;
    double[] found = new double[values.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = ((Number) values.get(i)).doubleValue();
    }
    return found;
  }

  public static double number(Object value) {
    return ((Number) value).doubleValue();
  }

  public static int[] ints(Object list) {
    double[] values = doubles(list);
    int[] found = new int[values.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = (int) values[i];
    }
    return found;
  }
}
