package mobilebert.bench.app;

import android.app.Activity;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.BatteryManager;
import android.os.Build;
import android.os.Debug;
import android.os.PowerManager;
import android.view.Window;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import mobilebert.runtime.Files;

/** What the device tells an app about itself, in the units the host's reports use. */
final class Device {
  private static final String[] THERMAL = {
    "none", "light", "moderate", "severe", "critical", "emergency", "shutdown"
  };

  private Device() {}

  /** Names and versions that stay. */
  static Map<String, Object> facts() {
    Map<String, Object> facts = new LinkedHashMap<String, Object>();
    facts.put("brand", Build.BRAND);
    facts.put("model", Build.MODEL);
    facts.put("device", Build.DEVICE);
    facts.put("fingerprint", Build.FINGERPRINT);
    facts.put("build_id", Build.ID);
    facts.put("build_type", Build.TYPE);
    facts.put("codename", Build.VERSION.CODENAME);
    facts.put("sdk", Build.VERSION.SDK_INT);
    facts.put("cores", Runtime.getRuntime().availableProcessors());
    facts.put("max_khz", clocks());
    return facts;
  }

  /** Battery and heat now; null where the device does not tell. */
  static Map<String, Object> condition(Context context) {
    Map<String, Object> now = new LinkedHashMap<String, Object>();
    Intent battery = context.registerReceiver(null, new IntentFilter(Intent.ACTION_BATTERY_CHANGED));
    if (battery != null) {
      int level = battery.getIntExtra(BatteryManager.EXTRA_LEVEL, -1);
      int scale = Math.max(1, battery.getIntExtra(BatteryManager.EXTRA_SCALE, 100));
      now.put("battery_percent", level < 0 ? null : (Object) (100 * level / scale));
      now.put("battery_celsius", battery.getIntExtra(BatteryManager.EXTRA_TEMPERATURE, 0) / 10.0);
      now.put("plugged", battery.getIntExtra(BatteryManager.EXTRA_PLUGGED, 0) != 0);
    }
    now.put("thermal", thermal(context));
    return now;
  }

  /** Asks for clocks the device can hold; true when it has such a mode (API 24, called by name). */
  static boolean sustainPerformance(Activity activity) {
    Object power = activity.getSystemService(Context.POWER_SERVICE);
    try {
      Object has = PowerManager.class.getMethod("isSustainedPerformanceModeSupported").invoke(power);
      if (Boolean.TRUE.equals(has)) {
        Window.class
            .getMethod("setSustainedPerformanceMode", boolean.class)
            .invoke(activity.getWindow(), true);
        return true;
      }
    } catch (ReflectiveOperationException unsupported) {
      return false;
    }
    return false;
  }

  /** Resident memory of this process at its highest, MiB: VmHWM, as the host's worker reads it. */
  static double peakMib() {
    return statusMib("VmHWM:");
  }

  /** Proportional set size now, MiB. */
  static double pssMib() {
    Debug.MemoryInfo memory = new Debug.MemoryInfo();
    Debug.getMemoryInfo(memory);
    return memory.getTotalPss() / 1024.0;
  }

  /** Which cores are fast, for people; an app leaves the choice of cores to the system. */
  static String coreNote() {
    List<Object> clocks = clocks();
    if (clocks.isEmpty()) {
      return "clocks of the cores are hidden";
    }
    long slowest = Long.MAX_VALUE;
    for (Object clock : clocks) {
      slowest = Math.min(slowest, (Long) clock);
    }
    int fast = 0;
    for (Object clock : clocks) {
      fast += (Long) clock > slowest ? 1 : 0;
    }
    return fast + " of " + clocks.size() + " cores are fast; the system places the threads";
  }

  static String thermalName(Object status) {
    int index = status instanceof Number ? ((Number) status).intValue() : -1;
    return index >= 0 && index < THERMAL.length ? THERMAL[index] : "unknown";
  }

  /** PowerManager.getCurrentThermalStatus (API 29, called by name); null before that. */
  private static Object thermal(Context context) {
    try {
      Object power = context.getSystemService(Context.POWER_SERVICE);
      return PowerManager.class.getMethod("getCurrentThermalStatus").invoke(power);
    } catch (ReflectiveOperationException unsupported) {
      return null;
    }
  }

  private static List<Object> clocks() {
    List<Object> found = new ArrayList<Object>();
    for (int core = 0; core < Runtime.getRuntime().availableProcessors(); core++) {
      File file = new File("/sys/devices/system/cpu/cpu" + core + "/cpufreq/cpuinfo_max_freq");
      try {
        found.add(Long.valueOf(Files.readText(file).trim()));
      } catch (IOException | NumberFormatException hidden) {
        return new ArrayList<Object>();
      }
    }
    return found;
  }

  private static double statusMib(String key) {
    try {
      for (String line : Files.readText(new File("/proc/self/status")).split("\n")) {
        if (line.startsWith(key)) {
          return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
        }
      }
    } catch (IOException hidden) {
      return 0;
    }
    return 0;
  }
}
