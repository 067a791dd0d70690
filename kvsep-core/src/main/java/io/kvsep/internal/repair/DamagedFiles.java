package io.kvsep.internal.repair;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.version.SalvagedManifest;
import io.kvsep.internal.vlog.BlobFileAudit;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Information from file names and headers, in place of a manifest. Changes nothing. */
final class DamagedFiles implements SalvagedManifest.Owners {
  private static final int STORE_ID_AT = 12;
  private static final int NUMBER_AT = 28;
  private static final int CRC_AT = 36;

  private final Storage storage;
  private final MemoryLedger ledger;
  private final List<String> names;

  DamagedFiles(Storage storage, MemoryLedger ledger) {
    this.storage = storage;
    this.ledger = ledger;
    try {
      this.names = storage.list();
    } catch (IOException e) {
      throw new StorageException("cannot list the files of " + storage.location(), e);
    }
  }

  TreeSet<Long> numbers(StoreFiles.Kind kind) {
    TreeSet<Long> numbers = new TreeSet<>();
    for (String name : names) {
      if (StoreFiles.kindOf(name) == kind) {
        numbers.add(StoreFiles.numberOf(name));
      }
    }
    return numbers;
  }

  boolean exists(String name) {
    return names.contains(name);
  }

  long length(String name) {
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      return file.length();
    } catch (IOException e) {
      return 0;
    }
  }

  @Override
  public boolean isStranger(StoreId storeId) {
    int others = 0;
    for (String name : names) {
      if (isOfStore(name)) {
        StoreId owner = ownerOf(name);
        if (storeId.equals(owner)) {
          return false;
        }
        // A file with a damaged header may belong to this store.
        others += owner == null ? -1 : 1;
      }
    }
    return others > 0;
  }

  @Override
  public @Nullable StoreId most(List<StoreId> claims) {
    Map<StoreId, Integer> votes = new LinkedHashMap<>();
    for (StoreId claim : claims) {
      votes.merge(claim, 1, Integer::sum);
    }
    for (String name : names) {
      StoreId id = ownerOf(name);
      if (id != null) {
        votes.merge(id, 1, Integer::sum);
      }
    }
    StoreId most = null;
    int count = 0;
    for (Map.Entry<StoreId, Integer> vote : votes.entrySet()) {
      if (vote.getValue() > count) {
        most = vote.getKey();
        count = vote.getValue();
      }
    }
    return most;
  }

  private static boolean isOfStore(String name) {
    StoreFiles.Kind kind = StoreFiles.kindOf(name);
    return kind == StoreFiles.Kind.TABLE || kind == StoreFiles.Kind.SEGMENT;
  }

  /** The store in the header of a table or log file; null if the header is invalid. */
  @Nullable StoreId ownerOf(String name) {
    if (!isOfStore(name)) {
      return null;
    }
    Region header = ledger.allocate(MemoryPurpose.READ, FileHeader.BYTES);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      NativeWindow window = new NativeWindow();
      int length = file.read(window.over(header, 0, FileHeader.BYTES), 0);
      boolean holds =
          length == FileHeader.BYTES
              && header.getInt(CRC_AT) == window.crc32c(header, 0, CRC_AT)
              && header.getLong(NUMBER_AT) == StoreFiles.numberOf(name);
      return holds
          ? new StoreId(header.getLong(STORE_ID_AT), header.getLong(STORE_ID_AT + 8))
          : null;
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    } finally {
      header.free();
    }
  }

  /** Whether a log file is a blob file. */
  boolean isRelocated(long id) {
    String name = StoreFiles.segment(id);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < FileHeader.BYTES || length > Integer.MAX_VALUE) {
        return false;
      }
      Region region = Region.ofMapping(file.map(length));
      try {
        return BlobFileAudit.isBlobFile(region);
      } finally {
        region.free();
      }
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }
}
