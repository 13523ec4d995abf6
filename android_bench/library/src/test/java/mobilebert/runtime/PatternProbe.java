package mobilebert.runtime;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the JDK makes of the library's patterns with each code point at each place of a sample.
 *
 * <p>Arguments: classes, each followed by a sample of its pattern and the places to be tried. Prints the pattern as JSON,
 * then for each place, first before and then instead of the character there, the runs of code points with one result:
 * first, last, start, end.
 */
public final class PatternProbe {
  private PatternProbe() {}

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < arguments.length; i += 3) {
      for (Pattern pattern : patterns(Class.forName("mobilebert.runtime." + arguments[i]))) {
        System.out.println(Json.write(Collections.singletonList(pattern.pattern())));
        String sample = arguments[i + 1];
        for (String number : arguments[i + 2].split(",")) {
          int place = Integer.parseInt(number);
          probe(pattern, sample.substring(0, place), sample.substring(place));
          probe(pattern, sample.substring(0, place), sample.substring(Math.min(place + 1, sample.length())));
        }
      }
    }
  }

  private static List<Pattern> patterns(Class<?> type) throws IllegalAccessException {
    List<Pattern> found = new ArrayList<Pattern>();
    for (Field field : type.getDeclaredFields()) {
      if (field.getType() == Pattern.class && Modifier.isStatic(field.getModifiers())) {
        field.setAccessible(true);
        found.add((Pattern) field.get(null));
      }
    }
    return found;
  }

  private static void probe(Pattern pattern, String before, String after) {
    StringBuilder out = new StringBuilder();
    int first = 0;
    String last = null;
    for (int code = 0; code <= Character.MAX_CODE_POINT; code++) {
      if (code == Character.MIN_SURROGATE) {
        code = Character.MAX_SURROGATE + 1;
      }
      Matcher matcher = pattern.matcher(before + new String(Character.toChars(code)) + after);
      String result = matcher.find() ? matcher.start() + " " + matcher.end() : "-1 -1";
      if (!result.equals(last)) {
        append(out, first, code - 1, last);
        first = code;
        last = result;
      }
    }
    append(out, first, Character.MAX_CODE_POINT, last);
    System.out.println(out);
  }

  private static void append(StringBuilder out, int first, int last, String result) {
    if (result != null) {
      out.append(out.length() == 0 ? "" : " ").append(first).append(' ').append(last).append(' ').append(result);
    }
  }
}
