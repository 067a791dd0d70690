package io.kvsep.testing;

import io.kvsep.internal.io.StoreFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What devices, file systems and people do to the files of a store: bits and sectors that change,
 * sectors that are read or written in the place of others, files that end early, go on, are gone,
 * are those of another store, or are as they were some time ago. Drawn from a seed.
 */
public final class DrawnDamage {
  private static final int[] SECTORS = {512, 4096};

  private final Map<String, byte[]> sound;
  private final List<? extends Map<String, byte[]>> older;
  private final Map<String, byte[]> foreign;
  private final Random random;
  private final List<String> names;

  /**
   * @param older the same store at times before
   * @param foreign another store
   */
  public DrawnDamage(
      Map<String, byte[]> sound,
      List<? extends Map<String, byte[]>> older,
      Map<String, byte[]> foreign,
      Random random) {
    this.sound = sound;
    this.older = older;
    this.foreign = foreign;
    this.random = random;
    names = List.copyOf(new TreeSet<>(sound.keySet()));
  }

  /** One damage; it may be none, where bytes are replaced by the same ones. */
  public Damage draw() {
    String name = name();
    return switch (random.nextInt(16)) {
      case 0 -> flip(name);
      case 1 -> set(name);
      case 2, 3 -> blank(name);
      case 4 -> copySector(name);
      case 5 -> swapSectors(name);
      case 6, 7, 8 -> cut(name);
      case 9 -> append(name);
      case 10 -> without(name, name);
      case 11 -> ofAnotherStore(name);
      case 12, 13 -> older(name);
      case 14 -> swapFiles(name, name());
      default -> random.nextBoolean() ? without(StoreFiles.CURRENT, name) : noise(name);
    };
  }

  /** One forgery: other contents of a file under right checksums. */
  public Damage forge() {
    String name = name();
    Forgery forgery =
        switch (random.nextInt(5)) {
          case 0 -> {
            name = name(StoreFiles.Kind.MANIFEST, name);
            yield ForgedManifest.of(bytes(name), random);
          }
          case 1 -> {
            name = name(StoreFiles.Kind.SEGMENT, name);
            boolean frames = FileParts.magic(bytes(name)).equals("KVSEPLOG");
            yield frames ? ForgedLog.of(bytes(name), random) : Forgery.ofPart(bytes(name), random);
          }
          default -> Forgery.ofPart(bytes(name), random);
        };
    return Damage.of(sound, name + forgery.what(), name, forgery.bytes(), /* forged= */ true);
  }

  /** One of a kind, if there is one. */
  private String name(StoreFiles.Kind kind, String otherwise) {
    List<String> found = names.stream().filter(n -> StoreFiles.kindOf(n) == kind).toList();
    return found.isEmpty() ? otherwise : found.get(random.nextInt(found.size()));
  }

  private String name() {
    return names.get(random.nextInt(names.size()));
  }

  private byte[] bytes(String name) {
    return Objects.requireNonNull(sound.get(name), name).clone();
  }

  private Damage of(String what, String name, byte[] bytes) {
    return Damage.of(sound, what, name, bytes, /* forged= */ false);
  }

  private Damage flip(String name) {
    byte[] bytes = bytes(name);
    int at = random.nextInt(bytes.length);
    bytes[at] ^= (byte) (1 << random.nextInt(8));
    return of("bit of " + name + " at " + at, name, bytes);
  }

  private Damage set(String name) {
    byte[] bytes = bytes(name);
    int at = random.nextInt(bytes.length);
    bytes[at] = (byte) (random.nextBoolean() ? 0 : random.nextInt(256));
    return of("byte of " + name + " at " + at, name, bytes);
  }

  private Damage blank(String name) {
    byte[] bytes = bytes(name);
    int sector = sector();
    int from = random.nextInt((bytes.length + sector - 1) / sector) * sector;
    boolean all = random.nextInt(3) == 0;
    int to = all ? bytes.length : Math.min(bytes.length, from + sector);
    Arrays.fill(bytes, from, to, (byte) (all || random.nextBoolean() ? 0 : 0xff));
    return of(name + " blank from " + from + " to " + to, name, bytes);
  }

  private int sector() {
    return SECTORS[random.nextInt(SECTORS.length)];
  }

  private Damage copySector(String name) {
    byte[] bytes = bytes(name);
    int sector = sector();
    String from = random.nextInt(4) == 0 ? name() : name;
    byte[] source = bytes(from);
    int to = random.nextInt((bytes.length + sector - 1) / sector) * sector;
    int at = random.nextInt((source.length + sector - 1) / sector) * sector;
    int length = Math.min(sector, Math.min(bytes.length - to, source.length - at));
    System.arraycopy(source, at, bytes, to, length);
    String what = from + " at " + at + " as " + name + " at " + to + ", " + length + " bytes";
    return of(what, name, bytes);
  }

  private Damage swapSectors(String name) {
    byte[] bytes = bytes(name);
    byte[] before = bytes(name);
    int sector = sector();
    int count = Math.max(1, bytes.length / sector);
    int one = random.nextInt(count) * sector;
    int other = random.nextInt(count) * sector;
    int length = Math.min(sector, bytes.length);
    System.arraycopy(before, one, bytes, other, length);
    System.arraycopy(before, other, bytes, one, length);
    return of(name + " at " + one + " and at " + other + " swapped by " + length, name, bytes);
  }

  /** Mostly where something ends. */
  private Damage cut(String name) {
    byte[] bytes = bytes(name);
    List<Integer> ends = List.copyOf(FileParts.of(bytes).boundaries());
    int drawn = ends.get(random.nextInt(ends.size())) + random.nextInt(3) - 1;
    int length = random.nextInt(4) == 0 ? random.nextInt(bytes.length) : drawn;
    length = Math.max(0, Math.min(bytes.length, length));
    String what = name + " cut to " + length + " of " + bytes.length;
    return of(what, name, Arrays.copyOf(bytes, length));
  }

  private Damage append(String name) {
    byte[] bytes = bytes(name);
    byte[] more =
        switch (random.nextInt(4)) {
          case 0 -> {
            byte[] noise = new byte[1 + random.nextInt(5_000)];
            random.nextBytes(noise);
            yield noise;
          }
          case 1 -> new byte[4_096];
          case 2 ->
              Arrays.copyOfRange(
                  bytes, Math.max(0, bytes.length - 1 - random.nextInt(2_000)), bytes.length);
          default -> bytes(name());
        };
    byte[] longer = Arrays.copyOf(bytes, bytes.length + more.length);
    System.arraycopy(more, 0, longer, bytes.length, more.length);
    return of(more.length + " bytes behind " + name, name, longer);
  }

  private Damage noise(String name) {
    byte[] bytes = bytes(name);
    int from = random.nextInt(bytes.length);
    int to = Math.min(bytes.length, from + 1 + random.nextInt(64));
    for (int i = from; i < to; i++) {
      bytes[i] = (byte) random.nextInt();
    }
    return of("noise in " + name + " from " + from + " to " + to, name, bytes);
  }

  private Damage without(String one, String other) {
    Set<String> gone = new TreeSet<>(List.of(one, other));
    Map<String, byte[]> files = new TreeMap<>(sound);
    files.keySet().removeAll(gone);
    return new Damage(gone + " gone", files, gone, /* forged= */ false);
  }

  private Damage ofAnotherStore(String name) {
    byte[] bytes = foreign.get(name);
    return bytes == null ? flip(name) : of(name + " of another store", name, bytes);
  }

  /** One that was changed or deleted since. */
  private Damage older(String name) {
    if (older.isEmpty()) {
      return flip(name);
    }
    Map<String, byte[]> before = older.get(random.nextInt(older.size()));
    List<String> changed = new ArrayList<>(new TreeSet<>(before.keySet()));
    changed.removeIf(file -> Arrays.equals(before.get(file), sound.get(file)));
    if (changed.isEmpty()) {
      return flip(name);
    }
    String file = changed.get(random.nextInt(changed.size()));
    byte[] bytes = Objects.requireNonNull(before.get(file));
    return of(file + " as it was, " + bytes.length + " bytes", file, bytes);
  }

  private Damage swapFiles(String one, String other) {
    Map<String, byte[]> files = new TreeMap<>(sound);
    files.put(one, bytes(other));
    files.put(other, bytes(one));
    Set<String> touched = new TreeSet<>(List.of(one, other));
    return new Damage(touched + " swapped", files, touched, /* forged= */ false);
  }
}
