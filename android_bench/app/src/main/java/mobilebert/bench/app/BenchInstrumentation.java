package mobilebert.bench.app;

import android.app.Activity;
import android.app.Instrumentation;
import android.content.Intent;
import android.os.Bundle;
import java.io.File;
import java.io.IOException;
import java.util.Map;
import mobilebert.runtime.Checksums;
import mobilebert.runtime.Files;
import mobilebert.runtime.Json;

/**
 * The benchmark without a finger: {@code adb shell am instrument -w -e artefact NAME -e threads 4 -e nonce N
 * mobilebert.bench/mobilebert.bench.app.BenchInstrumentation}.
 *
 * <p>Writes result.json to the app's storage and ends with its path, SHA-256 and the nonce: without those a run did
 * not happen.
 */
public final class BenchInstrumentation extends Instrumentation {
  private Bundle arguments;

  @Override
  public void onCreate(Bundle given) {
    super.onCreate(given);
    arguments = given == null ? new Bundle() : given;
    start();
  }

  @Override
  public void onStart() {
    super.onStart();
    Bundle answer = new Bundle();
    int code = Activity.RESULT_CANCELED;
    try {
      Map<String, Object> result = measure();
      String nonce = arguments.getString("nonce", "");
      result.put("nonce", nonce);
      String text = Json.write(result);
      File out = new File(getTargetContext().getExternalFilesDir(null), "result.json");
      Files.writeText(out, text);
      answer.putString("nonce", nonce);
      answer.putString("path", out.getPath());
      answer.putString("sha256", Checksums.sha256(out));
      code = Activity.RESULT_OK;
    } catch (IOException | InterruptedException error) {
      answer.putString("error", String.valueOf(error.getMessage()));
    }
    finish(code, answer);
  }

  private Map<String, Object> measure() throws IOException, InterruptedException {
    Intent intent = new Intent(getTargetContext(), BenchmarkActivity.class);
    intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK);
    intent.putExtra(BenchmarkActivity.ARTEFACT, arguments.getString("artefact"));
    intent.putExtra(BenchmarkActivity.THREADS, threads(arguments.getString("threads", "4")));
    return ((BenchmarkActivity) startActivitySync(intent)).await();
  }

  private static int threads(String text) throws IOException {
    try {
      return Math.max(1, Integer.parseInt(text));
    } catch (NumberFormatException error) {
      throw new IOException("threads is " + text + "; give a number", error);
    }
  }
}
