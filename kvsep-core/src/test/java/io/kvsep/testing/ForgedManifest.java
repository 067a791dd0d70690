package io.kvsep.testing;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** A manifest as edits whose numbers can be changed, and written again with right checksums. */
final class ForgedManifest {
  private static final int RECORD_HEADER_BYTES = 8;

  private final byte[] bytes;
  private final Random random;
  private final List<List<Field>> edits = new ArrayList<>();
  private final StringBuilder what = new StringBuilder();

  /** A tag with what is behind it: numbers, and keys or names where {@code text} is not null. */
  private static final class Field {
    final int tag;
    final List<Object> values = new ArrayList<>();

    Field(int tag) {
      this.tag = tag;
    }

    Field copy() {
      Field copy = new Field(tag);
      copy.values.addAll(values);
      return copy;
    }

    void numbers(Varints in, long count) {
      for (long i = 0; i < count; i++) {
        values.add(in.next());
      }
    }

    void text(Varints in, byte[] bytes) {
      int length = in.nextInt();
      values.add(Arrays.copyOfRange(bytes, in.position(), in.position() + length));
      in.skip(length);
    }

    void put(ByteArrayOutputStream out) {
      Varints.put(out, tag);
      for (Object value : values) {
        if (value instanceof byte[] text) {
          Varints.put(out, text.length);
          out.writeBytes(text);
        } else {
          Varints.put(out, (Long) value);
        }
      }
    }
  }

  private ForgedManifest(byte[] bytes, Random random) {
    this.bytes = bytes;
    this.random = random;
  }

  /** Another manifest under its own number, with a change or two in its edits. */
  static Forgery of(byte[] manifest, Random random) {
    ForgedManifest forged = new ForgedManifest(manifest, random);
    forged.read();
    for (int i = random.nextInt(2); i >= 0; i--) {
      forged.change();
    }
    return new Forgery(forged.what.toString(), forged.write());
  }

  private void read() {
    for (FileParts.Part part : FileParts.of(bytes).parts()) {
      if (part.kind().equals("edit")) {
        edits.add(readEdit(new Varints(bytes, part.from()), part.to()));
      }
    }
  }

  /** Counts of numbers are those of docs/formats/manifest.md. */
  private List<Field> readEdit(Varints in, int end) {
    List<Field> fields = new ArrayList<>();
    while (in.position() < end) {
      Field field = new Field(in.nextInt());
      switch (field.tag) {
        case 1, 2, 3, 7, 9, 11, 12, 15, 18 -> field.numbers(in, 1);
        case 4, 6, 8, 13, 14, 20 -> field.numbers(in, 2);
        case 17 -> field.numbers(in, 3);
        case 16 -> field.numbers(in, 7);
        case 10 -> {
          field.numbers(in, 1);
          field.text(in, bytes);
        }
        case 5, 19 -> {
          field.numbers(in, 3);
          field.text(in, bytes);
          field.text(in, bytes);
          field.numbers(in, field.tag == 5 ? 9 : 10);
          long uses = in.next();
          field.values.add(uses);
          field.numbers(in, 3 * uses);
        }
        default -> throw new AssertionError("tag " + field.tag);
      }
      fields.add(field);
    }
    return fields;
  }

  private void change() {
    int index = random.nextInt(edits.size());
    List<Field> edit = edits.get(index);
    int place = random.nextInt(edit.size());
    Field field = edit.get(place);
    switch (random.nextInt(8)) {
      case 0 -> {
        what.append("; tag ").append(field.tag).append(" twice in edit ").append(index);
        edit.add(place + 1, field.copy());
      }
      case 1 -> {
        if (edit.size() > 1) {
          what.append("; no tag ").append(field.tag).append(" in edit ").append(index);
          edit.remove(place);
        }
      }
      case 2 -> {
        if (random.nextBoolean()) {
          what.append("; edit ").append(index).append(" twice");
          edits.add(index, edit.stream().map(Field::copy).toList());
          edits.set(index, new ArrayList<>(edits.get(index)));
        } else if (edits.size() > 1) {
          what.append("; no edit ").append(index);
          edits.remove(index);
        }
      }
      default -> changeNumber(field, index);
    }
  }

  private void changeNumber(Field field, int index) {
    int place = random.nextInt(field.values.size());
    if (field.values.get(place) instanceof Long number) {
      long[] near = {number + 1, number - 1, number * 2, 0, 1, number + 1_000};
      long drawn =
          random.nextBoolean() ? near[random.nextInt(near.length)] : Forgery.extreme(random);
      long changed = drawn & Long.MAX_VALUE;
      field.values.set(place, changed);
      what.append("; tag ").append(field.tag).append(" of edit ").append(index);
      what.append(": number ").append(place).append(' ').append(number).append(" is ");
      what.append(changed);
    }
  }

  private byte[] write() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(bytes, 0, FileParts.HEADER_BYTES);
    List<int[]> records = new ArrayList<>();
    for (List<Field> edit : edits) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      edit.forEach(field -> field.put(body));
      records.add(new int[] {out.size(), body.size()});
      out.writeBytes(new byte[RECORD_HEADER_BYTES]);
      out.writeBytes(body.toByteArray());
    }
    int mark = out.size();
    boolean marked = random.nextBoolean();
    out.writeBytes(new byte[marked ? RECORD_HEADER_BYTES : 0]);
    byte[] written = out.toByteArray();
    for (int[] record : records) {
      FileParts.putInt(written, record[0], record[1]);
      FileParts.sealEdit(written, record[0], record[0] + RECORD_HEADER_BYTES + record[1]);
    }
    if (marked) {
      FileParts.putInt(written, mark + 4, FileParts.place(FileParts.number(bytes), mark));
    }
    return written;
  }
}
