package mobilebert.bench.app;

import android.app.Activity;
import android.os.Bundle;
import android.view.WindowManager;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import mobilebert.bench.R;
import mobilebert.bench.core.Session;
import mobilebert.bench.core.Statistics;

/** Runs one benchmark in the foreground, screen on, and shows it; leaving the screen stops it. */
public final class BenchmarkActivity extends Activity implements Share.Source {
  static final String ARTEFACT = "artefact";
  static final String THREADS = "threads";

  private volatile boolean stopped;
  private volatile Map<String, Object> result;
  private volatile String fault;
  private boolean sustained;
  private Thread worker;
  private TextView report;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.benchmark);
    report = (TextView) findViewById(R.id.report);
    Share.onLongPress(this, report, this);
    getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
    sustained = Device.sustainPerformance(this);
    worker =
        new Thread("benchmark") {
          @Override
          public void run() {
            measure();
          }
        };
    worker.start();
  }

  @Override
  protected void onPause() {
    super.onPause();
    // In the background the system slows a process down: such times would be wrong.
    stopped = true;
  }

  /** Waits for the end; the result, or an exception that says why there is none. */
  Map<String, Object> await() throws IOException, InterruptedException {
    worker.join();
    if (result == null) {
      throw new IOException(fault);
    }
    return result;
  }

  @Override
  public Object record() {
    return result;
  }

  private void measure() {
    Session.Progress progress =
        new Session.Progress() {
          @Override
          public boolean done(int runs, double lastMs) {
            if (runs % 10 == 0) {
              show(String.format(Locale.ROOT, "%d inferences, last %.1f ms", runs, lastMs));
            }
            return !stopped;
          }
        };
    try {
      File folder = Artefact.choose(this, getIntent().getStringExtra(ARTEFACT)).folder();
      int threads = getIntent().getIntExtra(THREADS, 4);
      Map<String, Object> found = BenchmarkRun.run(this, folder, threads, sustained, progress);
      show(describe(found));
      result = found;
    } catch (IOException error) {
      fail(error.getMessage());
    } catch (InterruptedException left) {
      fail("stopped: keep the screen in the foreground");
    }
  }

  private void fail(String why) {
    fault = why;
    show(why);
  }

  private void show(final String text) {
    runOnUiThread(
        new Runnable() {
          @Override
          public void run() {
            report.setText(text);
          }
        });
  }

  private static String describe(Map<String, Object> result) {
    Map<?, ?> session = (Map<?, ?>) result.get("record");
    Statistics.Summary steady = Statistics.summarise((double[]) session.get("steady_ms"));
    Map<?, ?> before = (Map<?, ?>) result.get("before");
    Map<?, ?> after = (Map<?, ?>) result.get("after");
    StringBuilder out = new StringBuilder();
    out.append(result.get("artefact")).append("\n").append(session.get("runtime")).append("\n");
    line(out, "threads, tokens", "%s, %s", result.get("threads"), result.get("seq_len"));
    line(out, "init", "%.1f ms", session.get("init_ms"));
    line(out, "first", "%.1f ms", session.get("first_ms"));
    int warmup = ((double[]) session.get("warmup_ms")).length;
    line(out, "warm-up", "%d runs%s", warmup, Boolean.TRUE.equals(session.get("converged")) ? "" : ", not settled");
    line(out, "steady", "%d runs", steady.count);
    line(out, "p50", "%.2f ms", steady.p50);
    line(out, "p90", "%.2f ms", steady.p90);
    line(out, "p99", "%.2f ms", steady.p99);
    line(out, "memory", "peak %.0f MiB, PSS %.0f MiB", session.get("peak_mib"), session.get("pss_mib"));
    String was = Device.thermalName(before.get("thermal"));
    line(out, "thermal status", "%s → %s", was, Device.thermalName(after.get("thermal")));
    line(out, "sustained clocks", "%s", result.get("sustained_performance"));
    line(out, "cores", "%s", result.get("core_note"));
    return out.toString();
  }

  private static void line(StringBuilder out, String name, String format, Object... values) {
    out.append(String.format(Locale.ROOT, "%-17s", name));
    out.append(String.format(Locale.ROOT, format, values)).append('\n');
  }
}
