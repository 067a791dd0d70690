package io.kvsep.server.cli;

import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.util.Locale;

record Transfer(String verb, long files, long bytes, long nanos, long skipped) {
  void report(StandardOutput output, boolean json) throws IOException {
    double rate = Amounts.megabytesPerSecond(bytes, nanos);
    if (json) {
      output.line(
          new JsonObject()
              .put("files", files)
              .put("bytes", bytes)
              .put("skipped", skipped)
              .put("seconds", Amounts.seconds(nanos))
              .put("megabytesPerSecond", rate)
              .toString());
    } else {
      output.line(
          String.format(
              Locale.ROOT,
              "%s %s, %s, in %.1f s (%.1f MB/s)",
              verb,
              Amounts.of(files, "file"),
              Amounts.bytes(bytes),
              Amounts.seconds(nanos),
              rate));
    }
  }
}
