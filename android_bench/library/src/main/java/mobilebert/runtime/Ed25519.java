package mobilebert.runtime;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * Verifies Ed25519 signatures, RFC 8032; Android has them from 13 on only. Nothing here is secret, so that it may take
 * more or less time by what it reads.
 */
final class Ed25519 {
  private static final BigInteger PRIME = BigInteger.ONE.shiftLeft(255).subtract(BigInteger.valueOf(19));
  private static final BigInteger ORDER =
      BigInteger.ONE.shiftLeft(252).add(new BigInteger("27742317777372353535851937790883648493"));
  private static final BigInteger TWO = BigInteger.valueOf(2);
  private static final BigInteger D =
      BigInteger.valueOf(121665).negate().multiply(BigInteger.valueOf(121666).modInverse(PRIME)).mod(PRIME);
  private static final BigInteger ROOT_OF_MINUS_ONE =
      TWO.modPow(PRIME.subtract(BigInteger.ONE).shiftRight(2), PRIME);

  /** The base point: y is 4/5, x the even root. */
  private static final Point BASE =
      decode(bytes(BigInteger.valueOf(4).multiply(BigInteger.valueOf(5).modInverse(PRIME)).mod(PRIME)));

  private Ed25519() {}

  /** A point in extended coordinates: x = X/Z, y = Y/Z, T = XY/Z. */
  private static final class Point {
    final BigInteger x;
    final BigInteger y;
    final BigInteger z;
    final BigInteger t;

    Point(BigInteger x, BigInteger y, BigInteger z, BigInteger t) {
      this.x = x.mod(PRIME);
      this.y = y.mod(PRIME);
      this.z = z.mod(PRIME);
      this.t = t.mod(PRIME);
    }

    /** The sum, by the law that holds for all points, equal ones too (RFC 8032, 5.1.4). */
    Point plus(Point other) {
      BigInteger a = y.subtract(x).multiply(other.y.subtract(other.x));
      BigInteger b = y.add(x).multiply(other.y.add(other.x));
      BigInteger c = t.multiply(TWO).multiply(D).multiply(other.t);
      BigInteger d = z.multiply(TWO).multiply(other.z);
      BigInteger e = b.subtract(a);
      BigInteger f = d.subtract(c);
      BigInteger g = d.add(c);
      BigInteger h = b.add(a);
      return new Point(e.multiply(f), g.multiply(h), f.multiply(g), e.multiply(h));
    }

    Point times(BigInteger count) {
      Point sum = new Point(BigInteger.ZERO, BigInteger.ONE, BigInteger.ONE, BigInteger.ZERO);
      for (int bit = count.bitLength() - 1; bit >= 0; bit--) {
        sum = sum.plus(sum);
        sum = count.testBit(bit) ? sum.plus(this) : sum;
      }
      return sum;
    }

    Point minus() {
      return new Point(x.negate(), y, z, t.negate());
    }

    byte[] encode() {
      BigInteger inverse = z.modInverse(PRIME);
      byte[] out = bytes(y.multiply(inverse).mod(PRIME));
      if (x.multiply(inverse).mod(PRIME).testBit(0)) {
        out[31] = (byte) (out[31] | 0x80);
      }
      return out;
    }
  }

  /** Did the owner of a key of 32 bytes sign a message with these 64? */
  static boolean verify(byte[] key, byte[] signature, byte[] message) {
    Point owner = key.length == 32 && signature.length == 64 ? decode(key) : null;
    BigInteger s = owner == null ? ORDER : number(Arrays.copyOfRange(signature, 32, 64));
    if (s.compareTo(ORDER) >= 0) {
      return false;
    }
    byte[] first = Arrays.copyOf(signature, 32);
    BigInteger k = number(sha512(first, key, message)).mod(ORDER);
    return Arrays.equals(first, BASE.times(s).plus(owner.times(k).minus()).encode());
  }

  /** The point of 32 bytes: y, and the lowest bit of x; null where there is none. */
  private static Point decode(byte[] encoded) {
    byte[] plain = encoded.clone();
    plain[31] = (byte) (plain[31] & 0x7F);
    BigInteger y = number(plain);
    if (y.compareTo(PRIME) >= 0) {
      return null;
    }
    BigInteger square = y.multiply(y);
    BigInteger u = square.subtract(BigInteger.ONE);
    BigInteger xx = u.multiply(D.multiply(square).add(BigInteger.ONE).modInverse(PRIME)).mod(PRIME);
    BigInteger x = xx.modPow(PRIME.add(BigInteger.valueOf(3)).shiftRight(3), PRIME);
    if (!x.multiply(x).mod(PRIME).equals(xx)) {
      x = x.multiply(ROOT_OF_MINUS_ONE).mod(PRIME);
    }
    boolean odd = (encoded[31] & 0x80) != 0;
    if (!x.multiply(x).mod(PRIME).equals(xx) || odd && x.signum() == 0) {
      return null;
    }
    x = x.testBit(0) == odd ? x : PRIME.subtract(x);
    return new Point(x, y, BigInteger.ONE, x.multiply(y));
  }

  /** A number from its bytes, the lowest first. */
  private static BigInteger number(byte[] bytes) {
    byte[] turned = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      turned[i] = bytes[bytes.length - 1 - i];
    }
    return new BigInteger(1, turned);
  }

  /** 32 bytes of a number below 2 to the 255, the lowest first. */
  private static byte[] bytes(BigInteger number) {
    byte[] out = new byte[32];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) number.shiftRight(8 * i).intValue();
    }
    return out;
  }

  private static byte[] sha512(byte[]... parts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-512");
      for (byte[] part : parts) {
        digest.update(part);
      }
      return digest.digest();
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("every Android has SHA-512", error);
    }
  }
}
