package mobilebert.bench.app;

import android.app.Activity;
import android.os.Bundle;
import android.os.Handler;
import android.os.HandlerThread;
import android.text.Editable;
import android.text.TextWatcher;
import android.widget.EditText;
import android.widget.TextView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;
import mobilebert.bench.R;
import mobilebert.runtime.ArtefactException;
import mobilebert.runtime.Cancellation;
import mobilebert.runtime.Hit;

/** The questions of a list that fit what is typed: each key ends the search before it and begins another. */
public final class FaqActivity extends Activity implements TextWatcher, Share.Source {
  private final HandlerThread thread = new HandlerThread("faq");
  private Handler work;
  private TextView answer;
  private volatile Cancellation running = new Cancellation();
  private volatile Object record;
  private Faq faq;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.faq);
    answer = (TextView) findViewById(R.id.answer);
    Share.onLongPress(this, answer, this);
    thread.start();
    work = new Handler(thread.getLooper());
    final Cancellation cancellation = running;
    work.post(
        new Runnable() {
          @Override
          public void run() {
            load(cancellation);
          }
        });
    ((EditText) findViewById(R.id.query)).addTextChangedListener(this);
  }

  @Override
  protected void onDestroy() {
    super.onDestroy();
    running.cancel();
    work.post(
        new Runnable() {
          @Override
          public void run() {
            if (faq != null) {
              faq.close();
            }
          }
        });
    thread.quitSafely();
  }

  @Override
  public void beforeTextChanged(CharSequence text, int start, int count, int after) {}

  @Override
  public void onTextChanged(CharSequence text, int start, int before, int count) {}

  @Override
  public void afterTextChanged(Editable text) {
    running.cancel();
    final Cancellation cancellation = new Cancellation();
    running = cancellation;
    final String query = text.toString();
    work.post(
        new Runnable() {
          @Override
          public void run() {
            ask(query, cancellation);
          }
        });
  }

  @Override
  public Object record() {
    return record;
  }

  private void load(Cancellation cancellation) {
    if (!Faq.file(this).isFile()) {
      show(getString(R.string.faq_none, Faq.file(this)), false);
      return;
    }
    String name = getIntent().getStringExtra(BenchmarkActivity.ARTEFACT);
    int threads = getIntent().getIntExtra(BenchmarkActivity.THREADS, 4);
    try {
      faq = new Faq(this, name, threads, cancellation);
      show("", true);
    } catch (IOException | ArtefactException error) {
      show(error.getMessage(), false);
    } catch (CancellationException left) {
      faq = null;
    }
  }

  private void ask(String query, Cancellation cancellation) {
    if (faq == null || query.trim().isEmpty()) {
      return;
    }
    try {
      StringBuilder text = new StringBuilder();
      List<Object> found = new ArrayList<Object>();
      for (Hit hit : faq.ask(query, cancellation)) {
        text.append(String.format(Locale.ROOT, "%.3f  %s%n", hit.score, hit.text));
        Map<String, Object> row = new LinkedHashMap<String, Object>();
        row.put("place", hit.place);
        row.put("score", (double) hit.score);
        row.put("text", hit.text);
        found.add(row);
      }
      Map<String, Object> whole = new LinkedHashMap<String, Object>();
      whole.put("query", query);
      whole.put("found", found);
      record = whole;
      show(text.toString(), true);
    } catch (CancellationException typedOn) {
      record = null;
    }
  }

  private void show(final String text, final boolean ready) {
    runOnUiThread(
        new Runnable() {
          @Override
          public void run() {
            answer.setText(text);
            findViewById(R.id.query).setEnabled(ready);
          }
        });
  }
}
