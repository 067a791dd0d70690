package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import io.kvsep.server.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Records of CSV whose first one names the columns: one column is the key, the others the value.
 */
final class CsvTable implements EntryFile {
  /** What the other columns become. */
  enum Form {
    /** A JSON object: a member of text for each column. */
    JSON,
    /** A record of CSV; a single column as it is. */
    COLUMNS
  }

  private final RowHandler handler = new RowHandler();
  private final CsvRecords<Row> records;
  private final char separator;
  private final Form form;
  private final List<String> names;
  private final int keyIndex;

  /** Reads the header; fails if it lacks the column. */
  CsvTable(BufferedInputStream input, char separator, String keyColumn, Form form)
      throws IOException {
    this.separator = separator;
    this.form = form;
    records = new CsvRecords<>(input, separator, handler);
    Row header = records.next();
    names = header == null ? List.of() : header.fields();
    keyIndex = names.indexOf(keyColumn);
    if (keyIndex < 0) {
      throw CommandFailure.failed(
          "--key-column: no column "
              + keyColumn
              + (names.isEmpty() ? ", the file is empty" : " in " + String.join(", ", names)));
    }
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (!seen.add(name)) {
        throw CommandFailure.failed("two columns have the name " + name);
      }
    }
    handler.fieldsMax = names.size();
  }

  @Override
  public Map.@Nullable Entry<byte[], byte[]> next() throws BadEntryException, IOException {
    Row row = records.next();
    if (row == null) {
      return null;
    }
    String where = "line " + row.line();
    if (row.count() != names.size()) {
      throw new BadEntryException(where, names.size() + " columns are wanted, not " + row.count());
    }
    byte[] key = row.fields().get(keyIndex).getBytes(UTF_8);
    EntryFile.checkKey(where, key);
    String value = form == Form.JSON ? json(row.fields()) : columns(row.fields());
    return Map.entry(key, value.getBytes(UTF_8));
  }

  private String json(List<String> fields) {
    JsonObject object = new JsonObject();
    for (int i = 0; i < fields.size(); i++) {
      if (i != keyIndex) {
        object.put(names.get(i), fields.get(i));
      }
    }
    return object.toString();
  }

  private String columns(List<String> fields) {
    List<String> others = new ArrayList<>(fields);
    others.remove(keyIndex);
    if (others.size() == 1) {
      return others.get(0);
    }
    others.replaceAll(this::quoted);
    return String.join(String.valueOf(separator), others);
  }

  private String quoted(String field) {
    boolean isPlain =
        field.chars().noneMatch(c -> c == '"' || c == separator || c == '\n' || c == '\r');
    return isPlain ? field : '"' + field.replace("\"", "\"\"") + '"';
  }

  /** The fields of a record, or as many of them as there are columns, and their number. */
  private record Row(long line, int count, List<String> fields) {}

  private static final class RowHandler extends AbstractBaseCsvCallbackHandler<Row> {
    private int fieldsMax = Integer.MAX_VALUE;
    private List<String> fields = new ArrayList<>();

    @Override
    protected void handleBegin(long line) {
      fields = new ArrayList<>();
    }

    @Override
    protected void handleField(int index, char[] text, int from, int length, boolean quoted) {
      if (index < fieldsMax) {
        fields.add(new String(text, from, length));
      }
    }

    @Override
    protected Row buildRecord() {
      return new Row(getStartingLineNumber(), getFieldCount(), fields);
    }
  }
}
