package mobilebert.bench.app;

import android.app.Activity;
import android.os.Bundle;
import android.os.Handler;
import android.os.HandlerThread;
import android.view.View;
import android.widget.EditText;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.util.Locale;
import mobilebert.bench.R;
import mobilebert.runtime.ArtefactCard;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.Networks;
import mobilebert.runtime.TextEncoder;

/** Two texts in, the probability that they mean the same out; all work on a thread of its own. */
public final class MatchActivity extends Activity {
  private final HandlerThread thread = new HandlerThread("matcher");
  private Handler work;
  private Matcher matcher;
  private TextView answer;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.match);
    answer = (TextView) findViewById(R.id.answer);
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
    try {
      String name = getIntent().getStringExtra(BenchmarkActivity.ARTEFACT);
      int threads = getIntent().getIntExtra(BenchmarkActivity.THREADS, 4);
      File folder = Artefacts.choose(this, name);
      ArtefactCard card = ArtefactCard.read(folder);
      TextEncoder encoder = TextEncoder.read(folder, card);
      matcher = new Matcher(card, encoder, Networks.open(folder, card, threads));
      show("", true);
    } catch (IOException error) {
      show(error.getMessage(), false);
    }
  }

  private void score(String a, String b) {
    Matcher.Answer found = matcher.match(a, b);
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
    if (matcher == null) {
      return;
    }
    try {
      matcher.close();
    } catch (IOException error) {
      android.util.Log.w("mobilebert", "closing the matcher", error);
    }
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
