package mobilebert.bench.app;

import android.app.Activity;
import android.content.Context;
import android.os.Bundle;
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
import mobilebert.bench.R;
import mobilebert.runtime.Cancellation;
import mobilebert.runtime.Hit;

/** The questions of a list that fit what is typed: each key ends the search before it and begins another. */
public final class FaqActivity extends Activity implements TextWatcher, Share.Source, LatestQuery.Listener {
  private TextView answer;
  private volatile Object record;
  private LatestQuery faq;

  // Deprecated in favour of AndroidX, which this app does without.
  @SuppressWarnings("deprecation")
  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.faq);
    answer = (TextView) findViewById(R.id.answer);
    Share.onLongPress(this, answer, this);
    // The system makes a screen anew when it is turned, the font grows or night falls: the models stay open.
    Object kept = getLastNonConfigurationInstance();
    faq = kept == null ? new LatestQuery(loader()) : (LatestQuery) kept;
    faq.listen(this);
    ((EditText) findViewById(R.id.query)).addTextChangedListener(this);
  }

  private LatestQuery.Loader loader() {
    final Context app = getApplicationContext();
    final String name = getIntent().getStringExtra(BenchmarkActivity.ARTEFACT);
    final int threads = getIntent().getIntExtra(BenchmarkActivity.THREADS, 4);
    return new LatestQuery.Loader() {
      @Override
      public LatestQuery.Questions load(Cancellation cancellation) throws IOException {
        if (!Faq.file(app).isFile()) {
          throw new IOException(app.getString(R.string.faq_none, Faq.file(app)));
        }
        return Faq.open(app, name, threads, cancellation);
      }
    };
  }

  @SuppressWarnings("deprecation")
  @Override
  public Object onRetainNonConfigurationInstance() {
    return faq;
  }

  @Override
  protected void onDestroy() {
    super.onDestroy();
    if (isChangingConfigurations()) {
      faq.listen(null);
    } else {
      faq.close();
    }
  }

  @Override
  public void beforeTextChanged(CharSequence text, int start, int count, int after) {}

  @Override
  public void onTextChanged(CharSequence text, int start, int before, int count) {}

  @Override
  public void afterTextChanged(Editable text) {
    record = null;
    faq.type(text.toString());
  }

  @Override
  public Object record() {
    return record;
  }

  @Override
  public void loaded() {
    show("", true);
  }

  @Override
  public void failed(String why) {
    show(why, false);
  }

  @Override
  public void answered(String query, List<Hit> hits) {
    StringBuilder text = new StringBuilder();
    List<Object> found = new ArrayList<Object>();
    for (Hit hit : hits) {
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
