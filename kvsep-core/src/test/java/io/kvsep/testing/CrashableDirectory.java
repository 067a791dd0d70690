package io.kvsep.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;

/**
 * A directory beside a {@link CrashableStorage}, which keeps its files and knows what a crash may
 * leave of them. A directory is an entry of a folder that stands for the world outside, and says
 * which folder has its files: so its name and theirs are lost or kept each for themselves. Thread
 * safe.
 */
final class CrashableDirectory implements NewDirectory {
  /** The folder in which the directories have their names. */
  static final String OUTSIDE = "@/";

  private final CrashableStorage source;
  private final String linkFolder;
  private final String target;
  private final Inside inside;
  private final String partial;
  private boolean renamed;
  private boolean published;

  private CrashableDirectory(CrashableFolder beside, String target, String partial, String folder) {
    this.source = beside.whole();
    this.linkFolder = beside.folder();
    this.target = target;
    this.partial = partial;
    this.inside = new Inside(source, folder);
  }

  static CrashableDirectory begin(CrashableFolder beside, String name) throws IOException {
    CrashableStorage source = beside.whole();
    String target = OUTSIDE + name;
    if (source.existsAt(target)) {
      throw new FileAlreadyExistsException(name);
    }
    String partial = target + ".partial";
    for (int n = 2; source.existsAt(partial); n++) {
      partial = target + ".partial-" + n;
    }
    String folder = source.freeFolder();
    source.nameFolder(partial, folder);
    return new CrashableDirectory(beside, target, partial, folder);
  }

  /** Which folder an entry is in, or which one it names. */
  static String folder(String path, Inode inode) {
    return path.startsWith(OUTSIDE)
        ? new String(inode.live().toBytes(), UTF_8)
        : path.substring(0, path.indexOf('/') + 1);
  }

  static Storage opened(CrashableStorage source, String name) throws IOException {
    return new Inside(source, new String(source.contents(OUTSIDE + name), UTF_8));
  }

  @Override
  public Storage storage() {
    return inside;
  }

  @Override
  public boolean link(String name) throws IOException {
    if (!source.linksFiles()) {
      return false;
    }
    source.linkAt(linkFolder + StoreFiles.requirePlain(name), inside.folder() + name);
    return true;
  }

  @Override
  public void publish() throws IOException {
    if (source.existsAt(target)) {
      throw new FileAlreadyExistsException(target);
    }
    source.renameAt(partial, target);
    renamed = true;
    source.syncDirectoryAt(OUTSIDE);
    published = true;
  }

  @Override
  public void close() {
    inside.close();
    if (!published) {
      try {
        if (renamed) {
          source.renameAt(target, partial);
        }
        for (String name : source.listAt(inside.folder())) {
          source.deleteAt(inside.folder() + name);
        }
        source.deleteAt(partial);
      } catch (IOException e) {
        // As with a real one, what stays can be told by its name.
        return;
      }
    }
  }

  /** The files of such a directory. Closing it lets others go on with them. */
  private static final class Inside extends CrashableFolder {
    private final CrashableStorage storage;

    Inside(CrashableStorage storage, String folder) {
      super(folder);
      this.storage = storage;
    }

    @Override
    CrashableStorage whole() {
      return storage;
    }

    @Override
    public void close() {}
  }
}
