@file:Suppress("UNUSED_PARAMETER")

package androidx.benchmark.macro.junit4

import androidx.benchmark.macro.CompilationMode
import androidx.benchmark.macro.MacrobenchmarkScope
import androidx.benchmark.macro.Metric
import androidx.benchmark.macro.StartupMode
import org.junit.rules.TestRule
import org.junit.runner.Description
import org.junit.runners.model.Statement

class MacrobenchmarkRule : TestRule {
    override fun apply(base: Statement, description: Description): Statement = base

    fun measureRepeated(
        packageName: String,
        metrics: List<Metric>,
        compilationMode: CompilationMode,
        startupMode: StartupMode?,
        iterations: Int,
        measureBlock: MacrobenchmarkScope.() -> Unit,
    ): Unit = throw NotImplementedError()
}
