package mobilebert.bench.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.util.Map;
import mobilebert.runtime.Network;
import mobilebert.runtime.TextEncoder;
import org.junit.Test;

/** Promise: every phase of a session is timed apart, samples stay in order, the network is closed in any case. */
public final class SessionTest {
  private static final TextEncoder.Encoded[] INPUTS = inputs();

  /** A clock that a network moves: opening takes 30 ms, then each inference what a schedule says. */
  private static final class Fake implements Session.Clock, Session.Opener, Session.Progress, Network {
    private long now;
    private int inferences;
    private int stopAfter = Integer.MAX_VALUE;
    private boolean closed;

    @Override
    public long nanos() {
      return now;
    }

    @Override
    public Network open() {
      now += 30_000_000;
      return this;
    }

    @Override
    public String runtime() {
      return "fake 1";
    }

    @Override
    public float[][] run(TextEncoder.Encoded input) {
      int number = inferences++;
      now += 1_000_000L * (number == 0 ? 50 : number < 8 ? 30 - number : 10);
      return new float[1][2];
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public boolean done(int runs, double lastMs) {
      return runs < stopAfter;
    }
  }

  @Test
  public void phasesAreTimedApart() throws Exception {
    Fake fake = new Fake();
    Map<String, Object> record = new Session(fake, fake).run(fake, INPUTS, 50, 0.1);
    assertEquals(30.0, record.get("init_ms"));
    assertEquals(50.0, record.get("first_ms"));
    assertEquals(true, record.get("converged"));
    double[] warmup = (double[]) record.get("warmup_ms");
    assertArrayEquals(new double[] {29, 28, 27}, java.util.Arrays.copyOf(warmup, 3), 0);
    double[] steady = (double[]) record.get("steady_ms");
    assertEquals(50, steady.length);
    assertEquals(10, steady[0], 0);
    assertEquals(51 + warmup.length, fake.inferences);
    assertTrue(fake.closed);
  }

  @Test
  public void steadyTimeIsAMinimumToo() throws Exception {
    Fake fake = new Fake();
    Map<String, Object> record = new Session(fake, fake).run(fake, INPUTS, 5, 1.0);
    assertEquals(100, ((double[]) record.get("steady_ms")).length);
  }

  @Test
  public void aStoppedSessionClosesTheNetwork() throws Exception {
    Fake fake = new Fake();
    fake.stopAfter = 3;
    try {
      new Session(fake, fake).run(fake, INPUTS, 50, 1.0);
      fail("was not stopped");
    } catch (InterruptedException expected) {
      assertTrue(fake.closed);
    }
  }

  /** The fake reads none of them. */
  private static TextEncoder.Encoded[] inputs() {
    return new TextEncoder.Encoded[] {null};
  }
}
