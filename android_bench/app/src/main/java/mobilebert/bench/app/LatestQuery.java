package mobilebert.bench.app;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import mobilebert.runtime.ArtefactException;
import mobilebert.runtime.Cancellation;
import mobilebert.runtime.Hit;

/**
 * Loads questions, then answers the text that was typed last, on a thread of its own. What is typed ends the search before
 * it, not the loading: a screen that is made anew types its old text while it still loads.
 *
 * <p>No Android imports: tested on a JVM. It outlives a screen that the system makes anew; the next one listens.
 */
final class LatestQuery implements AutoCloseable {
  /** What is asked. */
  interface Questions extends AutoCloseable {
    List<Hit> ask(String query, Cancellation cancellation);

    @Override
    void close();
  }

  /** Opens the questions. */
  interface Loader {
    Questions load(Cancellation cancellation) throws IOException;
  }

  /** Is told on the thread that works. */
  interface Listener {
    /** The questions are there. */
    void loaded();

    /** There are none, and why. */
    void failed(String why);

    void answered(String query, List<Hit> hits);
  }

  private final ExecutorService worker = Executors.newSingleThreadExecutor();
  private final Cancellation loading = new Cancellation();
  private volatile Cancellation asking = new Cancellation();
  private volatile Listener listener;

  /** Of the worker alone: null until loaded. */
  private Questions questions;

  private String failure;

  /** Begins to load. */
  LatestQuery(final Loader loader) {
    worker.execute(
        new Runnable() {
          @Override
          public void run() {
            load(loader);
          }
        });
  }

  /** Who is told from now on, of what has happened already too; null for nobody. */
  void listen(final Listener next) {
    listener = next;
    worker.execute(
        new Runnable() {
          @Override
          public void run() {
            tell(next);
          }
        });
  }

  private void load(Loader loader) {
    try {
      questions = loader.load(loading);
    } catch (IOException | ArtefactException error) {
      failure = String.valueOf(error.getMessage());
    } catch (CancellationException left) {
      failure = "";
    }
  }

  private void tell(Listener one) {
    if (one == null || one != listener) {
      return; // its screen is gone
    }
    if (questions != null) {
      one.loaded();
    } else {
      one.failed(failure);
    }
  }

  /** Answers a text in the place of those before it; one without words is answered by nothing. */
  void type(final String query) {
    asking.cancel();
    final Cancellation cancellation = new Cancellation();
    asking = cancellation;
    if (query.trim().isEmpty()) {
      return;
    }
    worker.execute(
        new Runnable() {
          @Override
          public void run() {
            ask(query, cancellation);
          }
        });
  }

  private void ask(String query, Cancellation cancellation) {
    if (questions == null || cancellation.isCancelled()) {
      return;
    }
    List<Hit> hits;
    try {
      hits = questions.ask(query, cancellation);
    } catch (CancellationException typedOn) {
      return;
    }
    Listener one = listener;
    if (one != null && !cancellation.isCancelled()) {
      one.answered(query, hits);
    }
  }

  /** Ends what is going on and closes the questions. */
  @Override
  public void close() {
    listener = null;
    loading.cancel();
    asking.cancel();
    worker.execute(
        new Runnable() {
          @Override
          public void run() {
            if (questions != null) {
              questions.close();
            }
          }
        });
    worker.shutdown();
  }
}
