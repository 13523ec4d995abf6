package mobilebert.runtime;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An array as NumPy saves it: versions 1 to 3, rows first, in little-endian numbers. */
final class NpyFile {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final Pattern HEADER =
      Pattern.compile(
          "\\{'descr': '([|<][a-z][0-9])', 'fortran_order': False, 'shape': \\(([0-9]{1,9}),(?: ([0-9]{1,9}))?\\), \\} *\n?");
  private static final int LONGEST_HEADER = 1 << 16;
  private static final int ALIGNED = 64;

  /** "|i1", "<f2" or "<f4". */
  final String type;

  final int rows;

  /** Numbers of a row; 1 for an array of one axis. */
  final int columns;

  private final byte[] data;

  private NpyFile(String type, int rows, int columns, byte[] data) {
    this.type = type;
    this.rows = rows;
    this.columns = columns;
    this.data = data;
  }

  /** Reads an array of one of some types with one axis or two; anything else is an {@link IOException}. */
  static NpyFile read(File file, int axes, String... types) throws IOException {
    Files.check(file);
    DataInputStream stream = new DataInputStream(new BufferedInputStream(new FileInputStream(file)));
    try {
      byte[] magic = new byte[MAGIC.length];
      stream.readFully(magic);
      int version = stream.readUnsignedByte();
      stream.readUnsignedByte();
      int length = Short.reverseBytes(stream.readShort()) & 0xFFFF;
      if (version > 1) {
        length |= (Short.reverseBytes(stream.readShort()) & 0xFFFF) << 16;
      }
      if (!Arrays.equals(magic, MAGIC) || version < 1 || version > 3 || length < 0 || length > LONGEST_HEADER) {
        throw damaged(file);
      }
      byte[] header = new byte[length];
      stream.readFully(header);
      Matcher said = HEADER.matcher(new String(header, StandardCharsets.US_ASCII));
      boolean known = said.matches() && Arrays.asList(types).contains(said.group(1));
      if (!known || (said.group(3) == null) != (axes == 1)) {
        throw new IOException(
            file.getName() + " is no array of " + Arrays.toString(types) + "; build the index again");
      }
      int rows = Integer.parseInt(said.group(2));
      int columns = axes == 1 ? 1 : Integer.parseInt(said.group(3));
      long bytes = (long) rows * columns * (said.group(1).charAt(2) - '0');
      if (bytes != file.length() - header.length - (version > 1 ? 12 : 10) || bytes > Integer.MAX_VALUE) {
        throw damaged(file);
      }
      byte[] data = new byte[(int) bytes];
      stream.readFully(data);
      return new NpyFile(said.group(1), rows, columns, data);
    } catch (EOFException cut) {
      throw damaged(file);
    } finally {
      stream.close();
    }
  }

  /** Writes rows of int8. */
  static void write(File file, byte[] rows, int columns) throws IOException {
    write(file, "|i1", "(" + rows.length / columns + ", " + columns + ")", rows);
  }

  /** Writes float32 numbers as an array of one axis. */
  static void write(File file, float[] numbers) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(numbers);
    write(file, "<f4", "(" + numbers.length + ",)", bytes.array());
  }

  private static void write(File file, String type, String shape, byte[] data) throws IOException {
    StringBuilder header = new StringBuilder("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }");
    while ((MAGIC.length + 4 + header.length() + 1) % ALIGNED != 0) {
      header.append(' ');
    }
    header.append('\n');
    ByteBuffer start = ByteBuffer.allocate(MAGIC.length + 4 + header.length()).order(ByteOrder.LITTLE_ENDIAN);
    start.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) header.length());
    start.put(header.toString().getBytes(StandardCharsets.US_ASCII));
    FileOutputStream stream = new FileOutputStream(file);
    try {
      stream.write(start.array());
      stream.write(data);
      stream.getFD().sync();
    } finally {
      stream.close();
    }
  }

  private static IOException damaged(File file) {
    return new IOException(file.getName() + " is damaged; build the index again");
  }

  /** All numbers of an array of int8, row after row. */
  byte[] bytes() {
    return data;
  }

  /** All numbers of an array of float16 or float32, row after row, which must be finite. */
  float[] floats() throws IOException {
    float[] found = new float[rows * columns];
    for (int i = 0; i < found.length; i++) {
      found[i] = type.equals("<f2") ? half(word(2 * i)) : Float.intBitsToFloat(word(4 * i) | word(4 * i + 2) << 16);
      if (Float.isNaN(found[i]) || Float.isInfinite(found[i])) {
        throw new IOException("an array holds numbers that are not finite; build the index again");
      }
    }
    return found;
  }

  private int word(int at) {
    return data[at] & 255 | (data[at + 1] & 255) << 8;
  }

  /** The value of an IEEE 754 half. */
  static float half(int bits) {
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    float size;
    if (exponent == 31) {
      size = fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
    } else {
      size = exponent == 0 ? Math.scalb((float) fraction, -24) : Math.scalb((float) (fraction | 1024), exponent - 25);
    }
    return (bits & 0x8000) == 0 ? size : -size;
  }
}
