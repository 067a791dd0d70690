package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import java.util.List;

/** What a call of verify found; the components are those of {@code VerifyReport}. */
public record VerifyResult(
    long files,
    long bytes,
    long entries,
    long records,
    long problemCount,
    List<CorruptionException> problems,
    List<String> unknownFiles,
    long nanos) {

  static VerifyResult of(StoreVerifier.Result checked, List<String> unknownFiles, long nanos) {
    return new VerifyResult(
        checked.files(),
        checked.bytes(),
        checked.entries(),
        checked.records(),
        checked.problemCount(),
        checked.problems(),
        unknownFiles,
        nanos);
  }
}
