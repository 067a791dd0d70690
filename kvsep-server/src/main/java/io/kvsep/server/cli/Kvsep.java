package io.kvsep.server.cli;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The program: runs a command, and reports a failure as one line on standard error and an exit
 * code.
 */
@Command(
    name = "kvsep",
    description = "Works on key-value stores from the command line.",
    versionProvider = Kvsep.Version.class,
    synopsisHeading = "Usage: ",
    synopsisSubcommandLabel = "COMMAND",
    commandListHeading = "%nCommands:%n",
    optionListHeading = "%nOptions:%n",
    footer = {
      "",
      "kvsep COMMAND --help tells more. kvsep bench runs the load driver.",
      "Exit code: 0 done, 1 failed, 2 wrong usage."
    })
public final class Kvsep {
  static final int DONE = 0;
  static final int FAILED = 1;
  static final int MISUSED = 2;

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Show the version and exit.")
  boolean version;

  private Kvsep() {}

  public static void main(String[] arguments) {
    Streams streams = Streams.ofProcess();
    WarningLines.install(streams);
    System.exit(run(streams, arguments));
  }

  /** Runs one command to its end and returns the exit code. */
  static int run(Streams streams, String... arguments) {
    return run(streams, commandLine(streams), arguments);
  }

  /** Runs one of the commands of {@code line}, which is used once. */
  static int run(Streams streams, CommandLine line, String... arguments) {
    try {
      int code = line.execute(arguments);
      if (code != FAILED) {
        // After a failure the output has been flushed already.
        streams.output().flush();
      }
      return code;
    } catch (StandardOutput.ReaderGoneException e) {
      return DONE;
    } catch (IOException e) {
      return fail(streams, reason(e));
    } catch (OutOfMemoryError e) {
      return fail(
          streams,
          "not enough memory ("
              + e.getMessage()
              + "): give the JVM more, for example KVSEP_JAVA_OPTS=-Xmx4g");
    }
  }

  static CommandLine commandLine(Streams streams) {
    CommandLine line = new CommandLine(new Kvsep());
    line.addSubcommand(new DemoCommand(streams));
    line.addSubcommand(new PutCommand(streams));
    line.addSubcommand(new GetCommand(streams));
    line.addSubcommand(new DeleteCommand());
    line.addSubcommand(new IncrementCommand(streams));
    line.addSubcommand(new CasCommand(streams));
    line.addSubcommand(new ScanCommand(streams));
    line.addSubcommand(new CountCommand(streams));
    line.addSubcommand(new SizeCommand(streams));
    line.addSubcommand(new KeyspacesCommand(streams));
    line.addSubcommand(new ChangesCommand(streams));
    line.addSubcommand(new IngestCommand(streams));
    line.addSubcommand(new ExportCommand(streams));
    line.addSubcommand(new DumpCommand(streams));
    line.addSubcommand(new ImportCommand(streams));
    line.addSubcommand(new ShellCommand(streams));
    line.addSubcommand(new InfoCommand(streams));
    line.addSubcommand(new CompactCommand(streams));
    line.addSubcommand(new ReclaimCommand(streams));
    line.addSubcommand(new CheckpointCommand(streams));
    line.addSubcommand(new BackupCommand(streams));
    line.addSubcommand(new RestoreCommand(streams));
    line.addSubcommand(new VerifyCommand(streams));
    line.addSubcommand(new RepairCommand(streams));
    line.addSubcommand(new ServeCommand(streams));
    line.addSubcommand(ClusterCommand.line(streams));
    line.addSubcommand(new CrashWriterCommand(streams));
    line.addSubcommand(new CompletionCommand(streams, line));
    line.addMixin("common", new CommonOptions());
    line.getSubcommands()
        .values()
        .forEach(command -> command.addMixin("common", new CommonOptions()));
    // Has its own --help.
    CommandLine help = new CommandLine(new CommandLine.HelpCommand());
    help.getCommandSpec().usageMessage().hidden(true);
    line.addSubcommand(help);
    // A key may begin with @ without naming an argument file.
    line.setExpandAtFiles(false);
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.registerConverter(Path.class, Kvsep::path);
    line.setOut(
        new PrintWriter(new OutputStreamWriter(streams.output(), StandardCharsets.UTF_8), true));
    line.setErr(
        new PrintWriter(new OutputStreamWriter(streams.errors(), StandardCharsets.UTF_8), true));
    line.setParameterExceptionHandler((failure, arguments) -> misuse(streams, failure));
    line.setExecutionExceptionHandler(
        (failure, command, parsed) -> failure(streams, failure, command));
    return line;
  }

  private static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw new TypeConversionException(reason(e));
    }
  }

  private static int misuse(Streams streams, ParameterException failure) {
    return misuse(streams, misuseReason(failure), failure.getCommandLine());
  }

  private static String misuseReason(ParameterException failure) {
    String message =
        String.valueOf(failure.getMessage())
            .replaceFirst(" is not an? (int|long)$", " is no whole number, or too large");
    CommandLine command = failure.getCommandLine();
    List<String> similar = List.of();
    if (failure instanceof UnmatchedArgumentException unmatched) {
      String word = unmatched.getUnmatched().get(0);
      if (unmatched.isUnknownOption()) {
        similar = unmatched.getSuggestions();
        if (!command.getSubcommands().isEmpty()) {
          message += "; options of a command stand behind it";
        }
      } else if (!command.getSubcommands().isEmpty()) {
        message = "no such command: " + word;
        similar = SimilarWords.of(word, visibleCommands(command));
      }
    }
    return similar.isEmpty()
        ? message
        : message + ", did you mean " + String.join(" or ", similar) + "?";
  }

  private static List<String> visibleCommands(CommandLine line) {
    return line.getSubcommands().values().stream()
        .map(CommandLine::getCommandSpec)
        .filter(spec -> !spec.usageMessage().hidden())
        .map(CommandSpec::name)
        .toList();
  }

  private static int misuse(Streams streams, String message, CommandLine command) {
    String name = command.getCommandSpec().qualifiedName(" ");
    streams.errors().println(line(message + " (see " + name + " --help)"));
    return MISUSED;
  }

  private static int failure(Streams streams, Exception failure, CommandLine command) {
    if (failure instanceof StandardOutput.ReaderGoneException) {
      return DONE;
    }
    if (failure instanceof CommandFailure own && own.misuse()) {
      return misuse(streams, reason(failure), command);
    }
    Exception told = failure;
    try {
      streams.output().flush();
    } catch (StandardOutput.ReaderGoneException e) {
      // The reader has gone, but the command failed nevertheless.
    } catch (IOException e) {
      told = e;
    }
    if (command.getParseResult().hasMatchedOption(CommonOptions.STACK_TRACE)) {
      told.printStackTrace(streams.errors());
    }
    return fail(streams, reason(told) + remedy(told, command));
  }

  private static String remedy(Exception failure, CommandLine command) {
    if (failure instanceof StoreLockedException) {
      return "; end it, ask its server, or read a checkpoint";
    }
    boolean damagedStore =
        failure instanceof CorruptionException damage
            && !damage.file().equals("backup")
            && !command.getCommandName().equals("repair");
    return damagedStore
        ? "; kvsep verify lists all damage, kvsep repair --to NEW saves the rest"
        : "";
  }

  private static int fail(Streams streams, String reason) {
    streams.errors().println(line(reason));
    return FAILED;
  }

  /** The form of every line on standard error. */
  static String line(String message) {
    String oneLine = message.strip().replaceAll("\\s*[\\r\\n]+\\s*", " ");
    // Names of files and columns, and what a server says, must not steer the terminal.
    return "kvsep: " + oneLine.replaceAll("\\p{Cc}", "?");
  }

  /** A message that users can act on. The JDK's own exceptions often only name a file. */
  static String reason(Throwable failure) {
    String message = Objects.requireNonNullElse(failure.getMessage(), "");
    if (failure instanceof StorageException && failure.getCause() != null) {
      String cause = reason(failure.getCause());
      return message.contains(cause) ? message : message + ": " + cause;
    }
    if (failure instanceof FileSystemException refusal) {
      return fileReason(refusal);
    }
    if (failure instanceof InvalidPathException other) {
      return "no path in this locale, set LC_ALL=C.UTF-8: " + other.getInput();
    }
    boolean speaksForItself =
        failure instanceof KvException
            || failure instanceof CommandFailure
            || failure instanceof IOException;
    return speaksForItself && !message.isEmpty()
        ? message
        : "unexpected " + failure + " (--stacktrace shows where)";
  }

  private static String fileReason(FileSystemException refusal) {
    String what = refusal.getReason();
    if (refusal instanceof NoSuchFileException) {
      what = "no such file or directory";
    } else if (refusal instanceof AccessDeniedException) {
      what = "access denied";
    } else if (refusal instanceof FileAlreadyExistsException) {
      what = "exists already";
    } else if (refusal instanceof NotDirectoryException) {
      what = "not a directory";
    } else if (refusal instanceof DirectoryNotEmptyException) {
      what = "not empty";
    }
    return refusal.getFile() + ": " + (what == null ? refusal.getClass().getSimpleName() : what);
  }

  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {version()};
    }
  }

  /** With the version that the build wrote into the jar. */
  static String version() {
    @Nullable String version = Kvsep.class.getPackage().getImplementationVersion();
    return "kvsep " + (version == null ? "(not from a jar)" : version);
  }
}
