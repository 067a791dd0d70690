package io.kvsep.server.http;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Tests of a class that share one server; each finds its store empty. */
abstract class SharedServer {
  @TempDir static Path folder;
  static Served served;

  @BeforeAll
  static void serve() {
    served = Served.at(folder.resolve("shared"));
  }

  @BeforeEach
  void empty() {
    served.empty();
  }

  @AfterAll
  static void close() {
    served.close();
  }
}
