package mobilebert.runtime;

import java.util.Arrays;

/** A growing list of ints without boxing. */
final class IntList {
  private int[] values;
  private int size;

  IntList(int capacity) {
    values = new int[Math.max(4, capacity)];
  }

  void add(int value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, 2 * size);
    }
    values[size++] = value;
  }

  int get(int place) {
    return values[place];
  }

  void set(int place, int value) {
    values[place] = value;
  }

  int size() {
    return size;
  }

  int[] toArray() {
    return Arrays.copyOf(values, size);
  }
}
