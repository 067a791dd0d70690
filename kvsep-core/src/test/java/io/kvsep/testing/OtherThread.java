package io.kvsep.testing;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Calls on a thread that is made for it, and waits for the answer. */
public final class OtherThread {
  private OtherThread() {}

  /** What the call gives or throws. */
  public static <R> R call(Callable<R> call) throws Exception {
    CompletableFuture<R> answer = new CompletableFuture<>();
    Thread other =
        new Thread(
            () -> {
              try {
                answer.complete(call.call());
              } catch (Exception | Error e) {
                answer.completeExceptionally(e);
              }
            });
    other.start();
    try {
      return answer.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : new CompletionException(e.getCause());
    }
  }
}
