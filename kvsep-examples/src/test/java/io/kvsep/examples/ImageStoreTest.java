package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ImageStoreTest {
  @TempDir Path directory;

  @Test
  void imagesAreReadWholeAndInParts() throws IOException {
    byte[] image = new byte[3_000_000];
    new Random(60).nextBytes(image);
    try (KvStore store = KvStore.open(directory, ImageStore.OPTIONS)) {
      ImageStore images = new ImageStore(store);
      images.save("a", "image/png", image);
      images.save("b", "image/webp", new byte[5]);

      ByteArrayOutputStream written = new ByteArrayOutputStream();
      assertTrue(images.writeTo("a", Channels.newChannel(written)));
      assertArrayEquals(image, written.toByteArray());
      assertFalse(images.writeTo("c", Channels.newChannel(written)));
      assertArrayEquals(
          Arrays.copyOfRange(image, 2_000_000, 2_000_100),
          images.part("a", 2_000_000, 100).orElseThrow());
      assertEquals(Optional.empty(), images.part("c", 0, 1));
      assertEquals(Optional.of("image/webp"), images.type("b"));
      assertEquals(Map.of("a", 3_000_000, "b", 5), images.lengths());
    }
  }

  @Test
  void anErrorOfTheReceiverReachesTheCaller() {
    OutputStream broken =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("gone");
          }
        };
    try (KvStore store = KvStore.inMemory()) {
      ImageStore images = new ImageStore(store);
      images.save("a", "image/png", new byte[1_000]);

      IOException error =
          assertThrows(IOException.class, () -> images.writeTo("a", Channels.newChannel(broken)));
      assertEquals("gone", error.getMessage());
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        """
        {logo=42, sunset=5000000}
        <svg xmlns='http://www.w3.org/2000/svg'/>
        """,
        Printed.by(
            () -> {
              try {
                ImageStore.main(new String[] {directory.toString()});
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            }));
  }
}
