/* What ICU makes of a pattern with each code point between two parts of a text: `icu_probe FOLDER VERSION PATTERN BEFORE
 * AFTER`. Prints the runs of code points with one result: first, last, start, end of the first match, -1 without one.
 * The texts are ASCII. ICU is opened by its path, for its functions have its version in their names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *(*open_pattern)(const uint16_t *, int32_t, uint32_t, void *, int32_t *);
typedef void (*set_text)(void *, const uint16_t *, int32_t, int32_t *);
typedef int8_t (*find_match)(void *, int32_t, int32_t *);
typedef int32_t (*place_of)(void *, int32_t, int32_t *);

static void *symbol(void *library, const char *name, const char *version) {
  char full[64];
  snprintf(full, sizeof full, "%s_%s", name, version);
  void *found = dlsym(library, full);
  if (found == NULL) {
    fprintf(stderr, "%s is not there\n", full);
    exit(1);
  }
  return found;
}

static void *library(const char *folder, const char *name, const char *version) {
  char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so.%s", folder, name, version);
  void *found = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

static int32_t widen(uint16_t *out, const char *text) {
  int32_t count = 0;
  for (; text[count] != 0; count++) out[count] = (unsigned char)text[count];
  return count;
}

int main(int count, char **arguments) {
  if (count != 6) return 2;
  const char *folder = arguments[1], *version = arguments[2];
  library(folder, "icudata", version);
  library(folder, "icuuc", version);
  void *icu = library(folder, "icui18n", version);
  static uint16_t pattern[4096], text[4096], after[2048];
  int32_t status = 0;
  int32_t length = widen(pattern, arguments[3]);
  void *compiled = ((open_pattern)symbol(icu, "uregex_open", version))(pattern, length, 0, NULL, &status);
  set_text set = (set_text)symbol(icu, "uregex_setText", version);
  find_match find = (find_match)symbol(icu, "uregex_find", version);
  place_of start = (place_of)symbol(icu, "uregex_start", version), end = (place_of)symbol(icu, "uregex_end", version);
  int32_t head = widen(text, arguments[4]), tail = widen(after, arguments[5]);
  int32_t first = 0, from = -2, to = -2;
  for (int32_t code = 0; code <= 0x10FFFF && status <= 0; code++) {
    if (code == 0xD800) code = 0xE000;
    int32_t width = code < 0x10000 ? 1 : 2;
    text[head] = code < 0x10000 ? code : 0xD7C0 + (code >> 10);
    if (width == 2) text[head + 1] = 0xDC00 | (code & 0x3FF);
    memcpy(text + head + width, after, tail * sizeof *after);
    set(compiled, text, head + width + tail, &status);
    int found = find(compiled, -1, &status);
    int32_t here = found ? start(compiled, 0, &status) : -1, there = found ? end(compiled, 0, &status) : -1;
    if (here != from || there != to) {
      if (from > -2) printf("%d %d %d %d ", first, code - 1, from, to);
      first = code;
      from = here;
      to = there;
    }
  }
  printf("%d %d %d %d\n", first, 0x10FFFF, from, to);
  if (status > 0) fprintf(stderr, "ICU says %d\n", status);
  return status > 0;
}
