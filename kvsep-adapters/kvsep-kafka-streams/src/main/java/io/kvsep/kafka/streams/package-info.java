/** State stores of Kafka Streams in kvsep. */
@NullMarked
package io.kvsep.kafka.streams;

import org.jspecify.annotations.NullMarked;
