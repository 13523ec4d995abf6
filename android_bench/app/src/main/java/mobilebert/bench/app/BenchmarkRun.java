package mobilebert.bench.app;

import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import mobilebert.runtime.ArtefactCard;
import mobilebert.runtime.Checksums;
import mobilebert.runtime.Network;
import mobilebert.runtime.ModelOptions;
import mobilebert.runtime.TextEncoder;
import mobilebert.bench.core.Session;

/** One benchmark of one artefact: what the screen shows and what the instrumentation writes. */
final class BenchmarkRun {
  static final int RUNS = 50;
  static final double SECONDS = 5;

  // Short and long, with accents and punctuation; padded to the artefact's length like any input.
  private static final String[][] PAIRS = {
    {"How do I reset my password?", "I forgot my password, how can I get a new one?"},
    {"What is the capital of Australia?", "Is Canberra or Sydney the capital city of Australia?"},
    {"Do cats dream?", "Do dogs dream?"},
    {"What's the difference between a crème brûlée and a flan?", "How do you make crème brûlée?"},
    {"How many litres are in a US gallon?", "How many gallons are in a barrel of oil?"},
  };

  private BenchmarkRun() {}

  /**
   * Runs it on the calling thread, which must not be the main one.
   *
   * @param sustained whether the window holds sustained performance mode, for the record
   */
  static Map<String, Object> run(
      Context context, final File folder, final int threads, boolean sustained, Session.Progress progress)
      throws IOException, InterruptedException {
    Checksums.verify(folder);
    final ArtefactCard card = ArtefactCard.read(folder);
    TextEncoder encoder = TextEncoder.read(folder, card);
    TextEncoder.Encoded[] inputs = new TextEncoder.Encoded[PAIRS.length];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = encoder.encode(PAIRS[i][0], card.texts == 2 ? PAIRS[i][1] : null, card.seqLen);
    }
    double baseMib = Device.peakMib();
    Map<String, Object> before = Device.condition(context);
    Session.Opener opener =
        new Session.Opener() {
          @Override
          public Network open() throws IOException {
            return new ModelOptions().backend().open(folder, card, threads);
          }
        };
    Session.Clock clock =
        new Session.Clock() {
          @Override
          public long nanos() {
            return System.nanoTime();
          }
        };
    Map<String, Object> session = new Session(clock, progress).run(opener, inputs, RUNS, SECONDS);
    session.put("base_mib", baseMib);
    session.put("peak_mib", Device.peakMib());
    session.put("pss_mib", Device.pssMib());
    Map<String, Object> result = new LinkedHashMap<String, Object>();
    result.put("runner", "app");
    result.put("artefact", folder.getName());
    result.put("checksums", Checksums.sha256(new File(folder, "SHA256SUMS")));
    result.put("threads", threads);
    result.put("seq_len", card.seqLen);
    result.put("sustained_performance", sustained);
    result.put("core_note", Device.coreNote());
    result.put("before", before);
    result.put("after", Device.condition(context));
    result.put("phone", Device.facts());
    result.put("record", session);
    return result;
  }
}
