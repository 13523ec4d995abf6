package mobilebert.bench.app;

import android.app.Activity;
import android.content.Intent;
import android.os.Bundle;
import android.view.View;
import android.widget.ArrayAdapter;
import android.widget.EditText;
import android.widget.Spinner;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import mobilebert.bench.R;

/** Pick an artefact folder and a number of threads, then benchmark it or match two texts with it. */
public final class MainActivity extends Activity {
  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    setContentView(R.layout.main);
    startOnClick(R.id.benchmark, BenchmarkActivity.class);
    startOnClick(R.id.match, MatchActivity.class);
    new Thread("artefacts") {
      @Override
      public void run() {
        listArtefacts();
      }
    }.start();
  }

  private void listArtefacts() {
    final List<String> names = new ArrayList<String>();
    String note = "";
    try {
      for (File folder : Artefacts.list(this)) {
        names.add(folder.getName());
      }
      note = names.isEmpty() ? getString(R.string.none, Artefacts.storage(this)) : "";
    } catch (IOException error) {
      note = error.getMessage();
    }
    final String shown = note;
    runOnUiThread(
        new Runnable() {
          @Override
          public void run() {
            int row = android.R.layout.simple_spinner_dropdown_item;
            ((Spinner) findViewById(R.id.artefact))
                .setAdapter(new ArrayAdapter<String>(MainActivity.this, row, names));
            ((TextView) findViewById(R.id.note)).setText(shown);
          }
        });
  }

  private void startOnClick(int button, final Class<? extends Activity> screen) {
    findViewById(button)
        .setOnClickListener(
            new View.OnClickListener() {
              @Override
              public void onClick(View view) {
                Object name = ((Spinner) findViewById(R.id.artefact)).getSelectedItem();
                if (name == null) {
                  return;
                }
                Intent intent = new Intent(MainActivity.this, screen);
                intent.putExtra(BenchmarkActivity.ARTEFACT, (String) name);
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
