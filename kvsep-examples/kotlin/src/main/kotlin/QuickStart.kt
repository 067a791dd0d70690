import io.kvsep.KvReader
import io.kvsep.KvStore
import io.kvsep.KvWriter
import io.kvsep.ScanOptions
import java.nio.file.Path
import java.time.Duration
import kotlin.io.path.Path

// Strings as keys and values, by the operators of a map. Null is an absent key.
operator fun KvReader.get(key: String): String? = get(key.encodeToByteArray())?.decodeToString()

operator fun KvWriter.set(key: String, value: String) =
  put(key.encodeToByteArray(), value.encodeToByteArray())

/** The entries whose keys begin with [prefix]; the sequence is read within [use] alone. */
fun <R> KvReader.prefix(prefix: String, use: (Sequence<Pair<String, String>>) -> R): R =
  cursor(ScanOptions.prefix(prefix.encodeToByteArray())).use { cursor ->
    use(
      generateSequence {
        if (cursor.next()) cursor.key().decodeToString() to cursor.value().decodeToString()
        else null
      }
    )
  }

fun main(arguments: Array<String>) {
  val directory: Path = Path(arguments.firstOrNull() ?: "kotlin-data")
  KvStore.open(directory).use { store ->
    store["user/1"] = "Ada"
    store["user/2"] = "Grace"
    store.put("token".encodeToByteArray(), byteArrayOf(1), Duration.ofMinutes(5))
    println(store["user/1"] ?: "absent")

    val visits = store.transact { transaction ->
      val count = (transaction["visits"]?.toInt() ?: 0) + 1
      transaction["visits"] = "$count"
      count
    }
    println("visit $visits")
    store.prefix("user/") { users -> users.forEach { (key, name) -> println("$key: $name") } }
  }
}
