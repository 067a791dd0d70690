package io.kvsep.server.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class JsonObjectTest {
  @Test
  void stringsComeBackWhateverTheyHold() {
    StringBuilder all = new StringBuilder("\u2028\u2029\uFEFF\uD83D\uDE00");
    for (char c = 0; c < 300; c++) {
      all.append(c);
    }
    String text = new JsonObject().put("a\"\\\n", all.toString()).toString();

    assertEquals(Map.of("a\"\\\n", all.toString()), JsonText.object(text));
    assertFalse(text.contains("\n"));
  }

  @Test
  void halfASurrogatePairIsEscaped() {
    assertEquals("{\"a\":\"\\ud83d\"}", new JsonObject().put("a", "\uD83D").toString());
    assertEquals("{\"a\":\"\\ude00x\"}", new JsonObject().put("a", "\uDE00x").toString());
  }

  @Test
  void numbersListsAndTruthValuesAreThemselves() {
    JsonObject object =
        new JsonObject()
            .put("long", Long.MIN_VALUE)
            .put("double", 2.5)
            .put("boolean", true)
            .put("empty", List.of())
            .put("list", List.of(new JsonObject(), new JsonObject().put("a", 1)));

    assertEquals(
        Map.of(
            "long",
            Long.MIN_VALUE,
            "double",
            2.5,
            "boolean",
            true,
            "empty",
            List.of(),
            "list",
            List.of(Map.of(), Map.of("a", 1L))),
        JsonText.object(object.toString()));
  }

  @Test
  void namesAreAListOfStrings() {
    assertEquals("{\"a\":[]}", new JsonObject().putNames("a", List.of()).toString());
    String names = new JsonObject().putNames("a", List.of("1.vlog", "\"")).toString();
    assertEquals(Map.of("a", List.of("1.vlog", "\"")), JsonText.object(names));
  }

  @Test
  void whatJsonCannotSayIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new JsonObject().put("a", Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> new JsonObject().put("a", 1 / 0.0));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{",
        "{}x",
        "{\"a\":01}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":NaN}"
      })
  void canaryTheReaderOfTheTestsIsStrict(String text) {
    assertThrows(IllegalArgumentException.class, () -> JsonText.object(text));
  }
}
