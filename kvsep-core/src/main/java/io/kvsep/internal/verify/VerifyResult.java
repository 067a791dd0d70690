package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import java.util.List;

/**
 * What a call of verify found.
 *
 * @param files tables and files of the log that were read
 * @param bytes of these
 * @param entries of tables
 * @param records of the log
 * @param problemCount all of them
 * @param problems the first of them
 * @param unknownFiles names of files in the directory that are not part of the store
 * @param nanos how long it took
 */
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
