package io.kvsep;

import io.kvsep.internal.io.Storage;

/**
 * Opens a store on a given storage, for programs that stop or observe its file operations. In this
 * package, because the public API has no such call and needs none.
 */
public final class StoreOnStorage {
  private StoreOnStorage() {}

  public static KvStore open(Storage storage, KvOptions options) {
    return OpenStore.open(storage, options);
  }
}
