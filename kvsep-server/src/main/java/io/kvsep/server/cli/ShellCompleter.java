package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.KvException;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jline.reader.Candidate;
import org.jline.reader.Completer;
import org.jline.reader.LineReader;
import org.jline.reader.ParsedLine;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * Completes commands, options, keyspaces, keys and files. Of many keys with a common part it offers
 * the part up to a slash, a colon or a dot, at the cost of one seek each.
 */
final class ShellCompleter implements Completer {
  private static final int CANDIDATES_MAX = 100;

  /** Most keys that are looked at; some cannot be typed. Also most files. */
  private static final int LOOKED_AT_MAX = 1000;

  private static final Set<String> OF_KEYS = Set.of("KEY", "P", "K");
  private static final Set<String> OF_FILES = Set.of("FILE", "FOLDER", "TARGET", "DIR");

  private final HeldStore held;
  private final CommandLine commands;

  ShellCompleter(Shell shell) {
    held = shell.held();
    commands = shell.commands();
  }

  @Override
  public void complete(LineReader reader, ParsedLine line, List<Candidate> candidates) {
    List<String> before = line.words().subList(0, Math.max(0, line.wordIndex()));
    if (!before.isEmpty() && before.get(0).equals("kvsep")) {
      before = before.subList(1, before.size());
    }
    String word = line.word();
    int typed = Math.max(0, Math.min(line.wordCursor(), word.length()));
    try {
      complete(before, word.substring(0, typed), candidates);
    } catch (KvException e) {
      // The command that is being typed will tell.
      return;
    }
  }

  /**
   * @param before the words before the one to complete
   */
  void complete(List<String> before, String word, List<Candidate> candidates) {
    if (before.isEmpty()) {
      for (CommandLine command : commands.getSubcommands().values()) {
        CommandSpec spec = command.getCommandSpec();
        if (!spec.usageMessage().hidden()) {
          add(candidates, spec.name(), first(spec.usageMessage().description()));
        }
      }
      add(candidates, "exit", "End the shell.");
      return;
    }
    CommandLine command = commands.getSubcommands().get(before.get(0));
    if (command == null) {
      return;
    }
    CommandSpec spec = command.getCommandSpec();
    OptionSpec option = spec.optionsMap().get(before.get(before.size() - 1));
    if (option != null && option.arity().max() > 0) {
      completeValue(option, before, word, candidates);
    } else if (word.startsWith("-")) {
      spec.options().stream()
          .filter(each -> !each.hidden())
          .forEach(each -> add(candidates, each.longestName(), first(each.description())));
    } else {
      String label = parameter(spec, before);
      completeLabel(label, before, word, candidates);
    }
  }

  private void completeValue(
      OptionSpec option, List<String> before, String word, List<Candidate> candidates) {
    if (option.longestName().equals("--keyspace")) {
      KvStore store = held.openIfThere();
      if (store != null) {
        store.keyspaces().forEach(name -> add(candidates, name, null));
      }
    } else if (option.completionCandidates() != null) {
      option
          .completionCandidates()
          .forEach(each -> add(candidates, each.toLowerCase(Locale.ROOT), null));
    } else {
      completeLabel(option.paramLabel(), before, word, candidates);
    }
  }

  private void completeLabel(
      String label, List<String> before, String word, List<Candidate> candidates) {
    if (OF_KEYS.contains(label)) {
      completeKey(before, word, candidates);
    } else if (OF_FILES.contains(label)) {
      completeFile(word, candidates);
    }
  }

  /** The label of the parameter that comes next, empty if there is none. */
  private static String parameter(CommandSpec spec, List<String> before) {
    int index = 0;
    for (int i = 1; i < before.size(); i++) {
      String word = before.get(i);
      OptionSpec option = spec.optionsMap().get(word);
      if (option != null) {
        i += Math.min(1, option.arity().max());
      } else if (!word.matches("--[a-z-]+=.*")) {
        index++;
      }
    }
    for (PositionalParamSpec parameter : spec.positionalParameters()) {
      if (parameter.index().contains(index)) {
        return parameter.paramLabel();
      }
    }
    return "";
  }

  private void completeKey(List<String> before, String word, List<Candidate> candidates) {
    KvStore store = held.openIfThere();
    if (store == null || before.contains("--key-hex")) {
      return;
    }
    KvReader reader = KeyspaceOption.all(store).get(keyspace(before));
    if (reader == null) {
      return;
    }
    byte[] prefix = word.getBytes(UTF_8);
    try (KvCursor cursor = reader.cursor(ScanOptions.prefix(prefix).keysOnly())) {
      addKeys(cursor, prefix.length, candidates);
    }
  }

  /** The name that an option gives, empty if there is none. */
  private static String keyspace(List<String> words) {
    String name = "";
    for (int i = 0; i < words.size(); i++) {
      if (words.get(i).startsWith("--keyspace=")) {
        name = words.get(i).substring("--keyspace=".length());
      } else if (i > 0 && words.get(i - 1).equals("--keyspace")) {
        name = words.get(i);
      }
    }
    return name;
  }

  private static void addKeys(KvCursor cursor, int typed, List<Candidate> candidates) {
    boolean isValid = cursor.next();
    for (int i = 0; i < LOOKED_AT_MAX && isValid && candidates.size() < CANDIDATES_MAX; i++) {
      byte[] key = cursor.key();
      byte[] part = Arrays.copyOf(key, partEnd(key, typed));
      boolean isWhole = part.length == key.length;
      String text = ByteText.show(part);
      if (!text.startsWith("0x")) {
        candidates.add(new Candidate(text, text, null, null, null, null, isWhole));
      }
      byte[] after = isWhole ? null : RangeOptions.firstKeyAfter(part);
      isValid = after == null ? cursor.next() : cursor.seek(after);
    }
  }

  /** Behind the first separator after what was typed. */
  private static int partEnd(byte[] key, int typed) {
    for (int i = typed; i < key.length; i++) {
      if (key[i] == '/' || key[i] == ':' || key[i] == '.') {
        return i + 1;
      }
    }
    return key.length;
  }

  private static void completeFile(String word, List<Candidate> candidates) {
    int slash = word.lastIndexOf('/') + 1;
    String start = word.substring(0, slash);
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(Path.of(start.isEmpty() ? "." : start))) {
      Iterator<Path> some = files.iterator();
      while (some.hasNext() && candidates.size() < LOOKED_AT_MAX) {
        Path file = some.next();
        String name = start + file.getFileName();
        if (!name.startsWith(word)) {
          continue;
        }
        boolean isFolder = Files.isDirectory(file);
        String text = isFolder ? name + "/" : name;
        candidates.add(new Candidate(text, text, null, null, null, null, !isFolder));
      }
    } catch (IOException | DirectoryIteratorException | InvalidPathException e) {
      // No such folder, or no name of one.
      return;
    }
  }

  private static @Nullable String first(String[] lines) {
    return lines.length == 0 ? null : lines[0];
  }

  private static void add(List<Candidate> candidates, String text, @Nullable String about) {
    candidates.add(new Candidate(text, text, null, about, null, null, true));
  }
}
