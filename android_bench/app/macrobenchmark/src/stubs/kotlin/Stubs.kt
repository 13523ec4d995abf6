// Signatures of AndroidX that the benchmark is compiled against in tests, where Google's repository cannot be reached.
@file:Suppress("UNUSED_PARAMETER")

package androidx.benchmark.macro

@RequiresOptIn
annotation class ExperimentalMetricApi

sealed class CompilationMode {
    class None : CompilationMode()

    class Full : CompilationMode()
}

enum class StartupMode { COLD, WARM, HOT }

sealed class Metric

class StartupTimingMetric : Metric()

@ExperimentalMetricApi
class TraceSectionMetric(sectionName: String) : Metric()

class MacrobenchmarkScope(val device: androidx.test.uiautomator.UiDevice) {
    fun startActivityAndWait(): Unit = throw NotImplementedError()
}
