package mobilebert.bench.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.fail;

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
    assertEquals("🚌/", Json.parse(" \"\\ud83d\\ude8c\\/\" "));
  }

  @Test
  public void damagedTextIsAnErrorWithItsPosition() {
    String[] damaged = {
      "", "{", "[1,", "{\"a\"", "{\"a\":1,}", "[1 2]", "tru", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "{1:2}", "--1", "\"\n\""
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

  @Test(expected = IllegalArgumentException.class)
  public void notANumberIsRefused() {
    Json.write(Double.NaN);
  }
}
