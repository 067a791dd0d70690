package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page as a person sees it, in Chromium where there is one. */
final class PageTest {
  private static final String TOKEN = "correct-horse";

  @TempDir Path folder;

  @Test
  void filesOfThePageMayLoadNothingFromElsewhere() {
    try (Served served = Served.at(folder)) {
      Served.Answer page = served.get("/").is(200);
      String policy = page.header("content-security-policy");
      assertTrue(policy.startsWith("default-src 'none'; script-src 'self'"), policy);
      assertFalse(policy.contains("unsafe"), policy);
      assertFalse(page.text().matches("(?s).*(src|href)=\"(https?:)?//.*"));
      served.get("/", "If-None-Match", page.header("etag")).is(304);
      assertEquals(
          page.header("content-length"), served.head("/").is(200).header("content-length"));
    }
  }

  @Test
  void aPersonSeesFiguresAndFindsAValue() throws Exception {
    @Nullable Path program = Chromium.program();
    assumeTrue(program != null, "there is no Chromium to open the page");
    HttpOptions options = HttpOptions.builder().token(TOKEN).build();
    try (Served served = Served.at(folder.resolve("store"), options)) {
      served.store().put("user/1".getBytes(UTF_8), "<b>Ada</b>".getBytes(UTF_8));
      served.store().put(new byte[] {(byte) 0xff, 0}, new byte[] {0, 1, 2});
      served.store().put("other".getBytes(UTF_8), "x".getBytes(UTF_8));
      served.store().keyspace("sessions");
      try (Chromium chromium =
          Chromium.start(Path.of(program.toString()), folder.resolve("user"))) {
        chromium.open(served.uri("/").toString());
        chromium.await("!document.getElementById('token-form').hidden");
        chromium.run(
            "document.getElementById('token').value = '"
                + TOKEN
                + "'; document.getElementById('token-form').requestSubmit()");
        chromium.await("document.body.dataset.ready === 'rates'");

        assertEquals("up", chromium.text("#state"));
        assertTrue(chromium.text("#tiles").contains("value log"), chromium.text("#tiles"));
        assertTrue(chromium.text("#segments tbody").contains(".vlog"));
        assertTrue(chromium.text("#memory tbody").contains("memtable"));
        assertTrue(chromium.text("#keyspace").contains("sessions"));
        chromium.await("document.querySelectorAll('#chart-operations polyline').length === 2");

        chromium.await("document.querySelectorAll('#keys tbody tr').length === 3");
        chromium.run("document.querySelectorAll('#keys button')[2].click()");
        chromium.await("document.getElementById('value').className === 'hex'");
        chromium.await("document.getElementById('value').textContent.includes('00 01 02')");
        chromium.run(
            "document.getElementById('prefix').value = 'user/';"
                + "document.getElementById('browse').requestSubmit()");
        chromium.await("document.querySelectorAll('#keys tbody tr').length === 1");
        chromium.run("document.querySelector('#keys button').click()");
        chromium.await("document.getElementById('value').textContent === '<b>Ada</b>'");
        chromium.await("document.getElementById('browse-note').textContent === '1 key'");

        find(chromium, "0xff");
        chromium.await("document.querySelector('#keys button')?.textContent === '0xff00'");
        find(chromium, "0xf");
        chromium.await("document.getElementById('browse-note').textContent.includes('pairs')");
        assertEquals("", chromium.complaints());
      }
    }
  }

  private static void find(Chromium chromium, String prefix) throws Exception {
    chromium.run(
        "document.getElementById('prefix').value = '"
            + prefix
            + "'; document.getElementById('browse').requestSubmit()");
  }

  /** The first answer is held back until the second one is there. */
  @Test
  void aLateAnswerOfAnEarlierClickIsDropped() throws Exception {
    @Nullable Path program = Chromium.program();
    assumeTrue(program != null, "there is no Chromium to open the page");
    try (Served served = Served.at(folder.resolve("store"))) {
      served.store().put("a".getBytes(UTF_8), "first".getBytes(UTF_8));
      served.store().put("b".getBytes(UTF_8), "second".getBytes(UTF_8));
      try (Chromium chromium =
          Chromium.start(Path.of(program.toString()), folder.resolve("user"))) {
        chromium.open(served.uri("/").toString());
        chromium.await("document.querySelectorAll('#keys tbody tr').length === 2");
        chromium.run(
            """
            globalThis.asked = window.fetch;
            globalThis.held = [];
            window.fetch = (path, options) => /keys64.YQ|prefix=a/.test(path)
              ? new Promise((answer) => held.push(() => answer(asked(path, options))))
              : asked(path, options);
            document.querySelectorAll('#keys button')[0].click();
            document.querySelectorAll('#keys button')[1].click();
            """);
        chromium.await("document.getElementById('value').textContent === 'second'");
        find(chromium, "a");
        find(chromium, "b");
        chromium.await("document.getElementById('browse-note').textContent === '1 key'");
        chromium.run("held.forEach((release) => release())");
        // Two looks at the figures come behind what was released.
        chromium.run("document.body.dataset.ready = ''");
        chromium.await("document.body.dataset.ready !== ''");
        chromium.run("document.body.dataset.ready = ''");
        chromium.await("document.body.dataset.ready !== ''");
        assertEquals("second", chromium.text("#value"));
        assertEquals("b", chromium.text("#keys tbody").substring(0, 1));
        assertEquals("", chromium.complaints());
      }
    }
  }
}
