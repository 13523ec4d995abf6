package mobilebert.macrobenchmark

import androidx.benchmark.macro.CompilationMode
import androidx.benchmark.macro.ExperimentalMetricApi
import androidx.benchmark.macro.StartupMode
import androidx.benchmark.macro.StartupTimingMetric
import androidx.benchmark.macro.TraceSectionMetric
import androidx.benchmark.macro.junit4.MacrobenchmarkRule
import androidx.test.ext.junit.runners.AndroidJUnit4
import androidx.test.uiautomator.By
import androidx.test.uiautomator.Until
import org.junit.Rule
import org.junit.Test
import org.junit.runner.RunWith

private const val APP = "mobilebert.bench"
private const val STARTS = 10
private const val PATIENCE_MS = 30_000L

/** How long the app takes from a tap on its icon, and its matcher from a tap on a button, in a process of its own. */
@OptIn(ExperimentalMetricApi::class)
@RunWith(AndroidJUnit4::class)
class StartBenchmark {
    @get:Rule
    val rule = MacrobenchmarkRule()

    /** As right after an installation from Play: nothing is compiled. */
    @Test
    fun interpreted() = measure(CompilationMode.None())

    /** As after some nights on a charger: everything is. */
    @Test
    fun compiled() = measure(CompilationMode.Full())

    /** "load matcher" is the section that MatchActivity writes into the system's trace. */
    private fun measure(mode: CompilationMode) = rule.measureRepeated(
        packageName = APP,
        metrics = listOf(StartupTimingMetric(), TraceSectionMetric("load matcher")),
        compilationMode = mode,
        startupMode = StartupMode.COLD,
        iterations = STARTS,
    ) {
        startActivityAndWait()
        // The list of artefacts is there once a packaged one was copied out, which the first start alone does.
        check(device.wait(Until.hasObject(By.textContains(" · ")), PATIENCE_MS)) { "the app lists no artefact" }
        device.findObject(By.res(APP, "match")).click()
        val loaded = device.wait(Until.hasObject(By.res(APP, "score").enabled(true)), PATIENCE_MS)
        check(loaded) { "the matcher was not loaded" }
    }
}
