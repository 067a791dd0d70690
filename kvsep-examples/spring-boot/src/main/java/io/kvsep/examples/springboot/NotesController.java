package io.kvsep.examples.springboot;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KeyspaceView;
import io.kvsep.KvEntry;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Spring calls this from many threads; the store needs no lock around it. */
@RestController
@RequestMapping("/notes")
class NotesController {
  private final KeyspaceView notes;

  NotesController(KvStore store) {
    this.notes = store.in(store.keyspace("notes"));
  }

  @PutMapping("/{name}")
  void put(@PathVariable String name, @RequestBody String text) {
    notes.put(name.getBytes(UTF_8), text.getBytes(UTF_8));
  }

  @GetMapping("/{name}")
  ResponseEntity<String> get(@PathVariable String name) {
    byte[] text = notes.get(name.getBytes(UTF_8));
    return text == null
        ? ResponseEntity.notFound().build()
        : ResponseEntity.ok(new String(text, UTF_8));
  }

  @DeleteMapping("/{name}")
  void delete(@PathVariable String name) {
    notes.delete(name.getBytes(UTF_8));
  }

  /** Names after {@code after} in order; the last one continues the list. */
  @GetMapping
  List<String> list(@RequestParam(defaultValue = "") String after) {
    ScanOptions page =
        ScanOptions.range((after + '\0').getBytes(UTF_8), null).keysOnly().limit(100);
    try (Stream<KvEntry> entries = notes.stream(page)) {
      return entries.map(entry -> new String(entry.key(), UTF_8)).toList();
    }
  }
}
