package mobilebert.bench.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import mobilebert.runtime.Cancellation;
import mobilebert.runtime.Hit;
import org.junit.Test;

/** Promise: the last text is answered, whenever it was typed, and a screen that is made anew loses nothing. */
public final class LatestQueryTest {
  private final BlockingQueue<String> log = new LinkedBlockingQueue<String>();
  private final CountDownLatch loads = new CountDownLatch(1);
  private final CountDownLatch asks = new CountDownLatch(1);
  private volatile boolean cancelled;

  private final LatestQuery.Loader loader =
      new LatestQuery.Loader() {
        @Override
        public LatestQuery.Questions load(Cancellation cancellation) throws IOException {
          await(loads);
          if (cancellation.isCancelled()) {
            cancelled = true;
            throw new CancellationException();
          }
          return questions;
        }
      };

  private final LatestQuery.Questions questions =
      new LatestQuery.Questions() {
        @Override
        public List<Hit> ask(String query, Cancellation cancellation) {
          log.add("asked " + query);
          if (query.startsWith("slow")) {
            await(asks);
          }
          if (cancellation.isCancelled()) {
            throw new CancellationException();
          }
          return Collections.emptyList();
        }

        @Override
        public void close() {
          log.add("closed");
        }
      };

  private LatestQuery.Listener listener(final String name) {
    return new LatestQuery.Listener() {
      @Override
      public void loaded() {
        log.add(name + " loaded");
      }

      @Override
      public void failed(String why) {
        log.add(name + " failed: " + why);
      }

      @Override
      public void answered(String query, List<Hit> hits) {
        log.add(name + " answered " + query);
      }
    };
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private void expect(String... lines) throws InterruptedException {
    for (String line : lines) {
      assertEquals(line, log.poll(60, TimeUnit.SECONDS));
    }
  }

  @Test
  public void textThatIsTypedWhileItLoadsIsAnsweredThen() throws Exception {
    LatestQuery query = new LatestQuery(loader);
    query.listen(listener("screen"));
    query.type("what the old screen held");
    loads.countDown();
    expect("screen loaded", "asked what the old screen held", "screen answered what the old screen held");
    assertTrue(!cancelled);
    query.close();
    expect("closed");
  }

  @Test
  public void onlyTheLastTextIsAnswered() throws Exception {
    loads.countDown();
    LatestQuery query = new LatestQuery(loader);
    query.listen(listener("screen"));
    query.type("slow one");
    expect("screen loaded", "asked slow one");
    query.type("second");
    query.type("third");
    asks.countDown();
    expect("asked third", "screen answered third");
    query.type("  ");
    query.close();
    expect("closed");
    assertTrue(log.isEmpty());
  }

  @Test
  public void theNextScreenIsToldWhatThereIs() throws Exception {
    LatestQuery query = new LatestQuery(loader);
    query.listen(null);
    loads.countDown();
    query.listen(listener("next"));
    expect("next loaded");
    query.close();
    expect("closed");
  }

  @Test
  public void aFailureIsToldToEachScreen() throws Exception {
    LatestQuery query =
        new LatestQuery(
            new LatestQuery.Loader() {
              @Override
              public LatestQuery.Questions load(Cancellation cancellation) throws IOException {
                throw new IOException("no artefact");
              }
            });
    query.listen(listener("first"));
    expect("first failed: no artefact");
    query.listen(listener("second"));
    expect("second failed: no artefact");
    query.type("anything");
    query.close();
    assertTrue(log.isEmpty());
  }

  @Test
  public void leavingEndsTheLoading() throws Exception {
    LatestQuery query = new LatestQuery(loader);
    query.close();
    loads.countDown();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!cancelled && System.nanoTime() < end) {
      Thread.sleep(5);
    }
    assertTrue(cancelled);
    assertTrue(log.isEmpty());
  }
}
