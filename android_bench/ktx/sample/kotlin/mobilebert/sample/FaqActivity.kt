package mobilebert.sample

import android.app.Activity
import android.os.Bundle
import android.widget.TextView
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import mobilebert.ktx.Faq

/** Asks a list of two questions, with the model that comes as a dependency. */
public class FaqActivity : Activity() {
    private val scope = CoroutineScope(Job() + Dispatchers.Default)

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val view = TextView(this)
        setContentView(view)
        scope.launch {
            val faq = Faq.open(this@FaqActivity) {
                put("password", "How do I reset my password?", "Settings, Account, Reset.")
                put("refund", "When do I get my money back?", "Within five working days.")
            }
            val best = faq.use { it.ask("I forgot my password") }.found.first()
            runOnUiThread { view.text = best.entry.payload }
        }
    }

    override fun onDestroy() {
        scope.cancel()
        super.onDestroy()
    }
}
