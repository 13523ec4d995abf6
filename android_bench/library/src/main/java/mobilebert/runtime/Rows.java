package mobilebert.runtime;

import java.io.IOException;

/**
 * The rows of a table that is packaged with the library: a letter, and hexadecimal numbers after it. Read byte by byte:
 * lines split into texts, 3,000 of them, took a tenth of a cold start.
 */
final class Rows {
  private final byte[] text;
  private int at;

  Rows(String name) throws IOException {
    text = Files.readResource(name);
  }

  /** The letter of the next row, once all numbers of the one before were read; 0 after the last. */
  char next() {
    while (at < text.length && (text[at] == '\n' || text[at] == '#')) {
      while (text[at++] != '\n') {}
    }
    return at < text.length ? (char) text[at++] : 0;
  }

  /** Has the row another number? */
  boolean hasNumber() {
    return text[at] == ' ';
  }

  /** The next number of the row. */
  int number() {
    at++;
    boolean minus = text[at] == '-';
    at += minus ? 1 : 0;
    int number = 0;
    for (; text[at] > ' '; at++) {
      number = 16 * number + Character.digit(text[at], 16);
    }
    return minus ? -number : number;
  }
}
