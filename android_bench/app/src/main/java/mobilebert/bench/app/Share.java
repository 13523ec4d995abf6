package mobilebert.bench.app;

import android.app.Activity;
import android.content.Intent;
import android.view.View;
import mobilebert.bench.R;
import mobilebert.runtime.Json;

/** A long press on a view shares the record behind it as JSON. */
final class Share {
  private Share() {}

  /** What a view shows, as values that JSON has; null where there is nothing yet. */
  interface Source {
    Object record();
  }

  static void onLongPress(final Activity activity, View view, final Source source) {
    view.setOnLongClickListener(
        new View.OnLongClickListener() {
          @Override
          public boolean onLongClick(View pressed) {
            Object record = source.record();
            if (record == null) {
              return false;
            }
            Intent intent = new Intent(Intent.ACTION_SEND);
            intent.setType("application/json");
            intent.putExtra(Intent.EXTRA_TEXT, Json.write(record));
            activity.startActivity(Intent.createChooser(intent, activity.getString(R.string.share)));
            return true;
          }
        });
  }
}
