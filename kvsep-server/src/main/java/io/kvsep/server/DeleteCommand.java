package io.kvsep.server;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Removes one key; on success that is on stable storage. */
@Command(
    name = "delete",
    description = "Remove KEY. Removing what is not there is no error.",
    footer = {"", "Write -- before a KEY that begins with a dash."})
final class DeleteCommand implements Callable<Integer> {
  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyArgument key = new KeyArgument();

  @Override
  public Integer call() {
    byte[] keyBytes = key.bytes();
    try (KvStore open = store.openExisting(KvOptions.builder().durability(Durability.sync()))) {
      open.delete(keyBytes);
    }
    return Kvsep.DONE;
  }
}
