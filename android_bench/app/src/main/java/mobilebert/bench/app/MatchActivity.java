package mobilebert.bench.app;

import android.app.Activity;
import android.os.Bundle;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Trace;
import android.view.View;
import android.widget.EditText;
import android.widget.TextView;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import mobilebert.bench.R;
import mobilebert.runtime.ArtefactException;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;

/** Two texts in, the probability that they mean the same out; all work on a thread of its own. */
public final class MatchActivity extends Activity implements Share.Source {
  /** In a trace of the system; the module macrobenchmark reads how long it took. */
  private static final String LOADING = "load matcher";

  private final HandlerThread thread = new HandlerThread("matcher");
  private Handler work;
  private Matcher matcher;
  private TextView answer;
  private volatile Object record;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.match);
    answer = (TextView) findViewById(R.id.answer);
    Share.onLongPress(this, answer, this);
    thread.start();
    work = new Handler(thread.getLooper());
    work.post(
        new Runnable() {
          @Override
          public void run() {
            load();
          }
        });
    findViewById(R.id.score)
        .setOnClickListener(
            new View.OnClickListener() {
              @Override
              public void onClick(View button) {
                final String a = text(R.id.text_a);
                final String b = text(R.id.text_b);
                work.post(
                    new Runnable() {
                      @Override
                      public void run() {
                        score(a, b);
                      }
                    });
              }
            });
  }

  @Override
  protected void onDestroy() {
    super.onDestroy();
    work.post(
        new Runnable() {
          @Override
          public void run() {
            unload();
          }
        });
    thread.quitSafely();
  }

  private void load() {
    Trace.beginSection(LOADING);
    try {
      String name = getIntent().getStringExtra(BenchmarkActivity.ARTEFACT);
      int threads = getIntent().getIntExtra(BenchmarkActivity.THREADS, 4);
      matcher = Artefact.choose(this, name).matcher(new ModelOptions().threads(threads));
      show("", true);
    } catch (IOException | ArtefactException error) {
      show(error.getMessage(), false);
    } finally {
      Trace.endSection();
    }
  }

  private void score(String a, String b) {
    Matcher.Answer found = matcher.match(a, b);
    Map<String, Object> whole = new LinkedHashMap<String, Object>();
    whole.put("text_a", a);
    whole.put("text_b", b);
    whole.put("score", (double) found.score);
    whole.put("label", found.label);
    whole.put("milliseconds", found.milliseconds);
    record = whole;
    show(
        String.format(
            Locale.ROOT,
            "%s  %.3f\n%.1f ms, %d tokens in %d",
            found.label,
            found.score,
            found.milliseconds,
            found.tokens,
            found.length),
        true);
  }

  private void unload() {
    if (matcher != null) {
      matcher.close();
    }
  }

  @Override
  public Object record() {
    return record;
  }

  private String text(int id) {
    return ((EditText) findViewById(id)).getText().toString();
  }

  private void show(final String text, final boolean ready) {
    runOnUiThread(
        new Runnable() {
          @Override
          public void run() {
            answer.setText(text);
            findViewById(R.id.score).setEnabled(ready);
          }
        });
  }
}
