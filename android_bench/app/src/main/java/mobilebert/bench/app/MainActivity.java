package mobilebert.bench.app;

import android.app.Activity;
import android.content.Intent;
import android.os.Bundle;
import android.view.View;
import android.widget.ArrayAdapter;
import android.widget.EditText;
import android.widget.Spinner;
import android.widget.TextView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import mobilebert.bench.R;
import mobilebert.runtime.ArtefactCard;

/** Pick an artefact folder and a number of threads, then benchmark it, match two texts or ask an FAQ with it. */
public final class MainActivity extends Activity {
  /** Of the artefact folders, in the order of the list. */
  private volatile List<String> names = new ArrayList<String>();

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.main);
    startOnClick(R.id.benchmark, BenchmarkActivity.class);
    startOnClick(R.id.match, MatchActivity.class);
    startOnClick(R.id.faq, FaqActivity.class);
    new Thread("artefacts") {
      @Override
      public void run() {
        listArtefacts();
      }
    }.start();
  }

  private void listArtefacts() {
    final List<String> found = new ArrayList<String>();
    final List<String> shown = new ArrayList<String>();
    String note = "";
    try {
      for (Artefact one : Artefact.all(this)) {
        found.add(one.name);
        shown.add(one.name + " · " + ArtefactCard.read(one.folder()).task.id);
      }
      note = shown.isEmpty() ? getString(R.string.none, Artefact.storage(this)) : "";
    } catch (IOException error) {
      note = error.getMessage();
    }
    final String told = note;
    runOnUiThread(
        new Runnable() {
          @Override
          public void run() {
            names = found;
            int row = android.R.layout.simple_spinner_dropdown_item;
            ((Spinner) findViewById(R.id.artefact))
                .setAdapter(new ArrayAdapter<String>(MainActivity.this, row, shown));
            ((TextView) findViewById(R.id.note)).setText(told);
          }
        });
  }

  private void startOnClick(int button, final Class<? extends Activity> screen) {
    findViewById(button)
        .setOnClickListener(
            new View.OnClickListener() {
              @Override
              public void onClick(View view) {
                int chosen = ((Spinner) findViewById(R.id.artefact)).getSelectedItemPosition();
                if (chosen < 0 || chosen >= names.size()) {
                  return;
                }
                Intent intent = new Intent(MainActivity.this, screen);
                intent.putExtra(BenchmarkActivity.ARTEFACT, names.get(chosen));
                intent.putExtra(BenchmarkActivity.THREADS, threads());
                startActivity(intent);
              }
            });
  }

  private int threads() {
    String text = ((EditText) findViewById(R.id.threads)).getText().toString();
    return text.matches("[1-9][0-9]?") ? Integer.parseInt(text) : 4;
  }
}
