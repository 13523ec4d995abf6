package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A JSON value on each line of a file. */
final class JsonLines {
  private JsonLines() {}

  /** The values; as in Python, what follows the last line end is no line. */
  static List<Object> read(File file) throws IOException {
    List<Object> found = new ArrayList<Object>();
    String text = Files.readText(file);
    int start = 0;
    for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      found.add(Json.parse(text.substring(start, end)));
      start = end + 1;
    }
    return found;
  }

  static void write(File file, List<Object> values) throws IOException {
    StringBuilder text = new StringBuilder();
    for (Object value : values) {
      text.append(Json.write(value)).append('\n');
    }
    Files.writeText(file, text.toString());
  }

  static String text(Object value) throws IOException {
    if (!(value instanceof String)) {
      throw new IOException("a line of the index holds what is no text; build the index again");
    }
    return (String) value;
  }
}
