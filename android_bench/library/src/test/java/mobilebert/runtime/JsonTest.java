package mobilebert.runtime;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.fail;

import java.math.BigInteger;
import java.util.Arrays;
import org.junit.Test;

/** Promise: JSON in and out without loss; a damaged text is an error with its position. */
public final class JsonTest {
  @Test
  public void valuesSurviveARoundTrip() throws Exception {
    String text = "{\"a\":[1,2.5,-3e-7,true,false,null],\"b\":{},\"c\":[],\"d\":\"\\\"\\\\\\n\\t\\u0001é🚌\"}";
    Object value = Json.parse(text);
    assertEquals(value, Json.parse(Json.write(value)));
    assertEquals("[1,0.1,9007199254740993,-0.5]", Json.write(Arrays.<Object>asList(1.0, 0.1, 9007199254740993L, -0.5)));
    Json.parse(deep('[', 64) + deep(']', 64));
    assertEquals("🚌/", Json.parse(" \"\\ud83d\\ude8c\\/\" "));
  }

  @Test
  public void damagedTextIsAnErrorWithItsPosition() {
    String[] damaged = {
      "", "{", "[1,", "{\"a\"", "{\"a\":1,}", "[1 2]", "tru", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "{1:2}", "--1", "\"\n\"", "01", "+1",
      "1.", ".5", "1e", "NaN", "Infinity", "\"\\u+123\"", deep('[', 20000), deep('[', 65) + deep(']', 65), deep('9', 4301)
    };
    for (String text : damaged) {
      try {
        Json.parse(text);
        fail("was read: " + text);
      } catch (JsonException error) {
        assertEquals(error.getMessage(), true, error.getMessage().contains("at character"));
      }
    }
  }

  @Test
  public void wholeNumbersStayWhole() throws Exception {
    assertEquals(9007199254740993L, Json.parse("9007199254740993"));
    assertEquals(new BigInteger("9223372036854775808"), Json.parse("9223372036854775808"));
    assertEquals(1.0, Json.parse("1.0"));
    assertEquals(Double.POSITIVE_INFINITY, Json.parse("1e999"));
  }

  private static String deep(char character, int count) {
    char[] text = new char[count];
    Arrays.fill(text, character);
    return new String(text);
  }

  @Test(expected = IllegalArgumentException.class)
  public void notANumberIsRefused() {
    Json.write(Double.NaN);
  }
}
