package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Durability;
import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.ValueCompression;
import io.kvsep.WriteBatch;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Images of some megabytes each. They are written as arrays and read as views of the mapped file,
 * so reading one copies nothing to the heap, whatever its size.
 *
 * <pre>
 * images   NAME   the image
 * types    NAME   its media type
 * </pre>
 */
public final class ImageStore {
  /** Images are compressed already: stored as they are, they can be read without a copy. */
  public static final KvOptions OPTIONS =
      KvOptions.builder()
          .valueCompression(ValueCompression.NONE)
          .durability(Durability.sync())
          .build();

  private final KvStore store;
  private final Keyspace images;
  private final Keyspace types;

  public ImageStore(KvStore store) {
    this.store = store;
    this.images = store.keyspace("images");
    this.types = store.keyspace("types");
  }

  /** Stores image and type or neither, durably. */
  public void save(String name, String type, byte[] image) {
    byte[] key = bytes(name);
    store.write(new WriteBatch().in(images).put(key, image).in(types).put(key, bytes(type)));
  }

  public Optional<String> type(String name) {
    return Optional.ofNullable(store.in(types).get(bytes(name)))
        .map(type -> new String(type, UTF_8));
  }

  /**
   * Writes the image to a socket or file; returns false if it does not exist. A slow receiver keeps
   * nothing else of the store waiting.
   */
  public boolean writeTo(String name, WritableByteChannel target) throws IOException {
    try {
      Long written =
          store
              .in(images)
              .read(
                  bytes(name),
                  view -> {
                    try {
                      long count = 0;
                      while (view.hasRemaining()) {
                        count += target.write(view);
                      }
                      return count;
                    } catch (IOException e) {
                      throw new UncheckedIOException(e);
                    }
                  });
      return written != null;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Copies a part of the image, as for a range request; empty if there is no such image. */
  public Optional<byte[]> part(String name, int offset, int length) {
    byte[] part = new byte[length];
    ByteBuffer found =
        store
            .in(images)
            .read(bytes(name), view -> ByteBuffer.wrap(part).put(view.slice(offset, length)));
    return found == null ? Optional.empty() : Optional.of(part);
  }

  /** The length of each image in bytes, without reading any. */
  public SortedMap<String, Integer> lengths() {
    SortedMap<String, Integer> lengths = new TreeMap<>();
    try (KvCursor cursor = store.in(images).cursor(ScanOptions.all().keysOnly())) {
      while (cursor.next()) {
        lengths.put(new String(cursor.key(), UTF_8), cursor.valueLength());
      }
    }
    return lengths;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  public static void main(String[] arguments) throws IOException {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "image-data");
    try (KvStore store = KvStore.open(directory, OPTIONS)) {
      ImageStore images = new ImageStore(store);
      images.save("sunset", "image/x-raw", new byte[5_000_000]);
      images.save("logo", "image/svg+xml", bytes("<svg xmlns='http://www.w3.org/2000/svg'/>\n"));
      System.out.println(images.lengths());
      images.writeTo("logo", Channels.newChannel(System.out));
    }
  }
}
