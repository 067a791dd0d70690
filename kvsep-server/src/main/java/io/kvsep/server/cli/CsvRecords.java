package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CloseableIterator;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The records of comma-separated values as in RFC 4180, in UTF-8. A handler makes a record of any
 * number of fields, each as long as a value; the library's own handlers have lower limits for both.
 */
final class CsvRecords<R> {
  /** Length of the longest value. */
  private static final int FIELD_CHARACTERS_MAX = 1 << 30;

  /** Some programs write this before UTF-8 text. */
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

  private final CloseableIterator<R> records;

  CsvRecords(BufferedInputStream input, char separator, AbstractBaseCsvCallbackHandler<R> handler)
      throws IOException {
    skipByteOrderMark(input);
    // Malformed UTF-8 is an error, not a replacement character.
    InputStreamReader text =
        new InputStreamReader(
            input,
            UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT));
    CsvReader<R> reader =
        CsvReader.builder()
            .fieldSeparator(separator)
            .maxBufferSize(FIELD_CHARACTERS_MAX)
            .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
            .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
            .allowUnclosedQuote(false)
            .build(handler, text);
    records = reader.iterator();
  }

  static boolean maySeparate(char separator) {
    return separator != '"' && separator != '\r' && separator != '\n';
  }

  /** It would become part of the first field. */
  private static void skipByteOrderMark(BufferedInputStream input) throws IOException {
    input.mark(BYTE_ORDER_MARK.length);
    if (!Arrays.equals(input.readNBytes(BYTE_ORDER_MARK.length), BYTE_ORDER_MARK)) {
      input.reset();
    }
  }

  /** Returns the next record, null after the last. */
  @Nullable R next() throws IOException {
    try {
      return records.hasNext() ? records.next() : null;
    } catch (UncheckedIOException e) {
      throw e.getCause() instanceof CharacterCodingException cause
          ? new IOException("no UTF-8: " + cause.getMessage(), cause)
          : e.getCause();
    } catch (CsvParseException e) {
      throw new IOException(reason(e), e);
    }
  }

  /** Some messages only give the line; their cause gives the reason. */
  private static String reason(CsvParseException failure) {
    Throwable cause = failure.getCause();
    return failure.getMessage() + (cause == null ? "" : ": " + cause.getMessage());
  }
}
