package mobilebert.bench.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Map;
import mobilebert.runtime.Golden;
import org.junit.Test;

/** Promise: numpy's numbers, bit for bit, and the host's decision that a run is warm. */
public final class StatisticsTest {
  @Test
  public void summariesEqualNumpy() throws Exception {
    List<Map<String, Object>> rows = Golden.rows("statistics.json");
    assertTrue(rows.size() >= 100);
    for (Map<String, Object> row : rows) {
      double[] samples = Golden.doubles(row.get("samples"));
      Statistics.Summary got = Statistics.summarise(samples);
      assertEquals(samples.length, got.count);
      assertEquals(Golden.number(row.get("minimum")), got.minimum, 0);
      assertEquals(Golden.number(row.get("maximum")), got.maximum, 0);
      assertEquals(Golden.number(row.get("p50")), got.p50, 0);
      assertEquals(Golden.number(row.get("p90")), got.p90, 0);
      assertEquals(Golden.number(row.get("p95")), got.p95, 0);
      assertEquals(Golden.number(row.get("p99")), got.p99, 0);
      assertEquals(Golden.number(row.get("mean")), got.mean, 0);
      assertEquals(Golden.number(row.get("median")), Statistics.median(samples, 0, samples.length), 0);
    }
  }

  @Test
  public void warmUpSettlesAfterAsManyRunsAsOnTheHost() throws Exception {
    for (Map<String, Object> row : Golden.rows("warmup.json")) {
      WarmUp warmUp = new WarmUp();
      int settledAfter = 0;
      double[] samples = Golden.doubles(row.get("samples"));
      for (int i = 0; i < samples.length && settledAfter == 0; i++) {
        settledAfter = warmUp.add(samples[i]) ? i + 1 : 0;
      }
      assertEquals(Golden.number(row.get("settled_after")), settledAfter, 0);
    }
  }

  @Test(expected = IllegalArgumentException.class)
  public void noSamplesAreAnError() {
    Statistics.summarise(new double[0]);
  }
}
