"""Promise of the app's screens, as far as XML says it: large fonts, dark mode, names for screen readers."""

import re
import xml.etree.ElementTree as ET

import pytest

from android_bench.build_app import java

RES = java.ANDROID_BENCH / "app" / "src" / "main" / "res"
ANDROID = "{http://schemas.android.com/apk/res/android}"
INPUTS = ("EditText", "Spinner")
TEXTS = ("TextView", "EditText", "Button", "CheckBox", "Switch", "RadioButton")
TOUCHED = ("EditText", "Spinner", "Button", "CheckBox", "Switch", "RadioButton")
SCROLLS = ("ScrollView", "ListView")
LEAST_DP = 48  # of what is touched, by Android's accessibility guide
SCREENS = sorted((RES / "layout").glob("*.xml"))


def faults(text):
    """What is wrong with a layout."""
    root = ET.fromstring(text)
    labelled = {view.get(f"{ANDROID}labelFor", "").rpartition("/")[2] for view in root.iter()}
    found = [] if root.tag in SCROLLS else ["the screen does not scroll: a large font pushes views out of it"]
    for view in root.iter():
        values = {name.removeprefix(ANDROID): value for name, value in view.attrib.items()}
        name = values.get("id", view.tag).rpartition("/")[2]
        found += [f"{name}: {fault}" for fault in _faults(view.tag, name, values, labelled)]
    return found


def _faults(tag, name, values, labelled):
    if not re.fullmatch(r"[\d.]+sp", values.get("textSize", "1sp")):
        yield f"text of {values['textSize']} does not grow with the user's font size (sp)"
    if tag in (*TEXTS, *INPUTS) and values.get("layout_height", "").endswith(("dp", "px", "sp")):
        yield "a fixed height cuts large text"
    for colour in ("textColor", "background", "textColorHint"):
        if values.get(colour, "?").startswith("#"):
            yield f"{colour} {values[colour]} is the same in dark mode"
    for attribute, value in values.items():
        if re.search("Left|Right", attribute) or re.search(r"\b(left|right)\b", value):
            yield f"{attribute} {value} is the wrong side where people read from the right"
    for told in ("text", "hint", "contentDescription"):
        value = values.get(told, "")
        if value and not value.startswith("@string/") and not value.isdigit():
            yield f"{told} {value!r} is not in strings.xml"
    if tag in INPUTS and not values.get("hint") and name not in labelled:
        yield "a screen reader has no name for it (hint, or labelFor of a text beside it)"
    if tag in TEXTS and "contentDescription" in values:
        yield "a screen reader says contentDescription instead of its text"
    if tag in ("ImageView", "ImageButton") and "contentDescription" not in values:
        yield "a screen reader has no name for it (contentDescription)"
    touched = "true" in (values.get("longClickable"), values.get("clickable")) and tag not in TOUCHED
    if touched and int(re.sub(r"\D", "", values.get("minHeight", "0"))) < LEAST_DP:
        yield f"lower than {LEAST_DP}dp, and can be touched"


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.stem)
def test_a_screen_has_no_fault(path):
    assert faults(path.read_text(encoding="utf-8")) == []


def test_every_screen_is_looked_at():
    used = {
        name
        for path in (java.ANDROID_BENCH / "app/src/main/java").rglob("*.java")
        for name in re.findall(r"setContentView\(R\.layout\.(\w+)\)", path.read_text(encoding="utf-8"))
    }
    assert used == {path.stem for path in SCREENS}


@pytest.mark.parametrize(
    ("screen", "given", "changed", "said"),
    [
        ("match", "20sp", "20dp", "does not grow"),
        ("match", 'android:hint="@string/text_a"', "", "no name for it"),
        ("main", 'labelFor="@+id/artefact"', 'tag="x"', "no name for it"),
        (
            "main",
            "android:textIsSelectable",
            'android:textColor="#FF000000" android:textIsSelectable',
            "dark",
        ),
        ("faq", "android:hint", "android:contentDescription", "instead of its text"),
        ("faq", "@string/faq_query", "Your question", "not in strings.xml"),
        ("faq", 'android:minHeight="48dp"', 'android:minHeight="20dp"', "can be touched"),
        ("match", "ScrollView", "FrameLayout", "does not scroll"),
        ("match", "android:padding=", "android:paddingLeft=", "read from the right"),
        ("match", 'android:orientation="vertical"', 'android:gravity="right"', "read from the right"),
    ],
)
def test_each_fault_is_found(screen, given, changed, said):
    text = (RES / "layout" / f"{screen}.xml").read_text(encoding="utf-8")
    assert given in text
    assert [fault for fault in faults(text.replace(given, changed)) if said in fault]


def test_a_fixed_height_of_an_input_is_found():
    text = (RES / "layout" / "main.xml").read_text(encoding="utf-8")
    start = text.index("<Spinner")
    fixed = text[:start] + text[start:].replace('layout_height="wrap_content"', 'layout_height="48dp"', 1)
    assert faults(fixed) == ["artefact: a fixed height cuts large text"]


def test_light_and_dark_mode_have_the_system_s_themes():
    parents = [
        ET.parse(RES / folder / "styles.xml").find("style").get("parent")
        for folder in ("values", "values-night")
    ]
    assert parents == ["@android:style/Theme.Material.Light", "@android:style/Theme.Material"]


def strings(folder):
    return {one.get("name"): one for one in ET.parse(RES / folder / "strings.xml").findall("string")}


@pytest.mark.parametrize("folder", ["values-ar", "values-de"])
def test_a_translation_is_whole_and_keeps_commands_and_places(folder):
    original = {name: one for name, one in strings("values").items() if one.get("translatable") != "false"}
    translated = strings(folder)
    assert translated.keys() == original.keys()
    for name, one in translated.items():
        for kept in (r"%\d\$s", r"adb push \S+"):
            assert re.findall(kept, one.text) == re.findall(kept, original[name].text), name
    assert sum(translated[name].text == one.text for name, one in original.items()) <= 1


def test_the_screens_are_turned_round_where_people_read_from_the_right():
    manifest = ET.parse(RES.parent / "AndroidManifest.xml").find("application")
    assert manifest.get(f"{ANDROID}supportsRtl") == "true"
    assert manifest.get(f"{ANDROID}icon") == "@mipmap/icon"


def test_every_shape_that_a_launcher_cuts_leaves_the_icons_drawing_whole():
    icon = ET.parse(RES / "mipmap-anydpi-v26/icon.xml").getroot()
    layers = {layer.tag: layer.get(f"{ANDROID}drawable") for layer in icon}
    assert layers.keys() == {"background", "foreground", "monochrome"}
    vector = ET.parse(RES / f"{layers['foreground'].removeprefix('@')}.xml").getroot()
    assert {vector.get(f"{ANDROID}{name}") for name in ("width", "height")} == {"108dp"}
    assert {vector.get(f"{ANDROID}viewport{name}") for name in ("Width", "Height")} == {"108"}
    corners = [
        (x, y)
        for path in vector
        for left, top, width, down in re.findall(
            r"M(\d+),(\d+)h(\d+)v(\d+)h-\3z", path.get(f"{ANDROID}pathData")
        )
        for x in (int(left), int(left) + int(width))
        for y in (int(top), int(top) + int(down))
    ]
    assert len(corners) == 12, "the drawing is three bars"
    # Any mask keeps the circle of 66dp in the middle (Android's guide to adaptive icons).
    assert all((x - 54) ** 2 + (y - 54) ** 2 <= 33**2 for x, y in corners)


def test_each_string_is_used():
    names = {one.get("name") for one in ET.parse(RES / "values" / "strings.xml").findall("string")}
    places = [
        path for path in (java.ANDROID_BENCH / "app/src/main").rglob("*.*") if path.name != "strings.xml"
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in places if path.suffix in (".xml", ".java"))
    assert {name for name in names if not re.search(rf"(@string/|R\.string\.){name}\b", text)} == set()
