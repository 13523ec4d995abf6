package mobilebert.sample;

import android.app.Activity;
import android.os.Bundle;
import android.widget.TextView;
import mobilebert.runtime.ArtefactException;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;

/** Two texts compared, away from the main thread, with an artefact from the app's assets. */
public final class SampleActivity extends Activity implements Runnable {
  private volatile String shown = "";

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    new Thread(this).start();
  }

  @Override
  public void run() {
    if (!shown.isEmpty()) {
      TextView view = new TextView(this);
      view.setText(shown);
      setContentView(view);
      return;
    }
    try (Matcher matcher = Matcher.load(this, "matcher-int8", new ModelOptions().threads(2))) {
      shown = matcher.match("How old is the Moon?", "What is the age of the Moon?").label;
    } catch (ArtefactException error) {
      shown = error.getMessage();
    }
    runOnUiThread(this);
  }
}
