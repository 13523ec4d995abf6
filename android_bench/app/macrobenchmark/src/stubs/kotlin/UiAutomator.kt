@file:Suppress("UNUSED_PARAMETER")

package androidx.test.uiautomator

class BySelector {
    fun enabled(isEnabled: Boolean): BySelector = this
}

object By {
    @JvmStatic
    fun res(resourcePackage: String, resourceId: String): BySelector = BySelector()

    @JvmStatic
    fun textContains(substring: String): BySelector = BySelector()
}

class SearchCondition<U>

object Until {
    @JvmStatic
    fun hasObject(selector: BySelector): SearchCondition<Boolean> = SearchCondition()
}

class UiObject2 {
    fun click(): Unit = throw NotImplementedError()
}

class UiDevice {
    fun findObject(selector: BySelector): UiObject2 = throw NotImplementedError()

    fun <U> wait(condition: SearchCondition<U>, timeout: Long): U = throw NotImplementedError()
}
