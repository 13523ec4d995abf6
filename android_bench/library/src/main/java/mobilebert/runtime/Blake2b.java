package mobilebert.runtime;

/** BLAKE2b with 64 bytes and no key, RFC 7693: what minisign signs of a file. Android has none of its own. */
final class Blake2b {
  private static final int BLOCK = 128;
  private static final int ROUNDS = 12;
  private static final long[] START = {
    0x6a09e667f3bcc908L, 0xbb67ae8584caa73bL, 0x3c6ef372fe94f82bL, 0xa54ff53a5f1d36f1L,
    0x510e527fade682d1L, 0x9b05688c2b3e6c1fL, 0x1f83d9abfb41bd6bL, 0x5be0cd19137e2179L
  };

  /** Which word of the block each step takes, in the first ten rounds; the last two are as the first two. */
  private static final String[] ORDER = {
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"
  };

  private Blake2b() {}

  static byte[] hash(byte[] message) {
    long[] state = START.clone();
    state[0] ^= 0x01010040; // no key, 64 bytes
    int done = 0;
    while (message.length - done > BLOCK) {
      compress(state, message, done, done + BLOCK, false);
      done += BLOCK;
    }
    byte[] last = new byte[BLOCK];
    System.arraycopy(message, done, last, 0, message.length - done);
    compress(state, last, 0, message.length, true);
    byte[] out = new byte[64];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) (state[i / 8] >>> 8 * (i % 8));
    }
    return out;
  }

  /** Takes in a block that begins at a place of an array; so many bytes were read with it. */
  private static void compress(long[] state, byte[] from, int place, long read, boolean last) {
    long[] words = new long[16];
    for (int i = 0; i < BLOCK; i++) {
      words[i / 8] |= (from[place + i] & 255L) << 8 * (i % 8);
    }
    long[] v = new long[16];
    System.arraycopy(state, 0, v, 0, 8);
    System.arraycopy(START, 0, v, 8, 8);
    v[12] ^= read;
    v[14] ^= last ? -1 : 0;
    for (int round = 0; round < ROUNDS; round++) {
      String order = ORDER[round % ORDER.length];
      for (int i = 0; i < 8; i++) {
        // Four columns, then four diagonals.
        int turn = i < 4 ? 0 : 1;
        long x = words[Character.digit(order.charAt(2 * i), 16)];
        long y = words[Character.digit(order.charAt(2 * i + 1), 16)];
        mix(v, i % 4, 4 + (i + turn) % 4, 8 + (i + 2 * turn) % 4, 12 + (i + 3 * turn) % 4, x, y);
      }
    }
    for (int i = 0; i < 8; i++) {
      state[i] ^= v[i] ^ v[i + 8];
    }
  }

  private static void mix(long[] v, int a, int b, int c, int d, long x, long y) {
    v[a] += v[b] + x;
    v[d] = Long.rotateRight(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = Long.rotateRight(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = Long.rotateRight(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = Long.rotateRight(v[b] ^ v[c], 63);
  }
}
