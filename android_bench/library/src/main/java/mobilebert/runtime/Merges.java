package mobilebert.runtime;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/** The merges of a BPE, by rank. Immutable: threads may share one. */
final class Merges {
  private final Map<Long, int[]> rules = new HashMap<Long, int[]>(65536);

  /** Members "merges", "a b" or ["a", "b"] each, over a vocabulary. */
  Merges(Fields model, Map<String, Integer> vocabulary) throws IOException {
    int rank = 0;
    for (Object merge : model.list("merges")) {
      String[] parts = parts(merge);
      Integer left = parts == null ? null : vocabulary.get(parts[0]);
      Integer right = parts == null ? null : vocabulary.get(parts[1]);
      Integer both = parts == null ? null : vocabulary.get(parts[0] + parts[1]);
      if (left == null || right == null || both == null) {
        throw model.fault("merge " + rank + " is not one of two entries to a third");
      }
      rules.put(key(left, right), new int[] {rank++, both});
    }
  }

  private static String[] parts(Object merge) {
    if (merge instanceof List && ((List<?>) merge).size() == 2) {
      Object left = ((List<?>) merge).get(0);
      Object right = ((List<?>) merge).get(1);
      return left instanceof String && right instanceof String ? new String[] {(String) left, (String) right} : null;
    }
    String[] parts = merge instanceof String ? ((String) merge).split(" ", -1) : new String[0];
    return parts.length == 2 ? parts : null;
  }

  private static long key(int left, int right) {
    return (long) left << 32 | right;
  }

  /** Symbols of a word as a list that can lose members. */
  static final class Word {
    private final int[] ids;
    private final int[] starts;
    private final int[] ends;
    private int[] before;
    private int[] after;
    private int count;

    Word(int most) {
      ids = new int[most];
      starts = new int[most];
      ends = new int[most];
    }

    void add(int id, int start, int end) {
      ids[count] = id;
      starts[count] = start;
      ends[count++] = end;
    }

    void stretchLast(int end) {
      ends[count - 1] = end;
    }

    int first() {
      return count == 0 ? -1 : 0;
    }

    /** The symbol after one; -1 after the last. */
    int next(int i) {
      return after[i];
    }

    int id(int i) {
      return ids[i];
    }

    int start(int i) {
      return starts[i];
    }

    int end(int i) {
      return ends[i];
    }

    private void link() {
      before = new int[count];
      after = new int[count];
      for (int i = 0; i < count; i++) {
        before[i] = i - 1;
        after[i] = i + 1 < count ? i + 1 : -1;
      }
    }

    /** Joins a symbol with the one after it, which is then no symbol any more. */
    private void join(int i, int id) {
      int gone = after[i];
      ids[i] = id;
      ends[i] = ends[gone];
      ids[gone] = -1;
      after[i] = after[gone];
      if (after[i] >= 0) {
        before[after[i]] = i;
      }
    }
  }

  /** A pair that could be joined: the lowest rank first, the leftmost of equal ones. */
  private static final class Candidate implements Comparable<Candidate> {
    final int rank;
    final int at;
    final int id;

    Candidate(int rank, int at, int id) {
      this.rank = rank;
      this.at = at;
      this.id = id;
    }

    @Override
    public int compareTo(Candidate other) {
      return rank != other.rank ? Integer.compare(rank, other.rank) : Integer.compare(at, other.at);
    }
  }

  /** Joins a word's symbols until no rule fits. */
  void apply(Word word) {
    word.link();
    PriorityQueue<Candidate> queue = new PriorityQueue<Candidate>();
    for (int i = 0; i < word.count; i++) {
      offer(queue, word, i);
    }
    while (!queue.isEmpty()) {
      Candidate best = queue.poll();
      int next = word.ids[best.at] < 0 ? -1 : word.after[best.at];
      int[] rule = next < 0 ? null : rules.get(key(word.ids[best.at], word.ids[next]));
      if (rule == null || rule[1] != best.id) {
        continue; // one of the two was joined with another meanwhile
      }
      word.join(best.at, best.id);
      if (word.before[best.at] >= 0) {
        offer(queue, word, word.before[best.at]);
      }
      offer(queue, word, best.at);
    }
  }

  private void offer(PriorityQueue<Candidate> queue, Word word, int at) {
    int next = word.after[at];
    int[] rule = next < 0 ? null : rules.get(key(word.ids[at], word.ids[next]));
    if (rule != null) {
      queue.add(new Candidate(rule[0], at, rule[1]));
    }
  }
}
