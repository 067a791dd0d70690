/** The storage engine. Start at {@link io.kvsep.KvStore}. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.kvsep.core {
  requires transitive chronicle.bytes;
  requires static com.google.errorprone.annotations;
  requires transitive static org.jspecify;
  requires chronicle.core;
  requires com.github.benmanes.caffeine;
  requires java.logging;
  requires java.management;
  requires jdk.unsupported;
  requires org.lz4.java;
  // Of Chronicle, which does not say so.
  requires org.slf4j;
  // Without these a store runs all the same.
  requires static jdk.jfr;
  requires static jdk.management;
  requires static micrometer.core;

  exports io.kvsep;
  exports io.kvsep.error;
}
