package io.kvsep.server.http;

import static com.linecorp.armeria.common.HttpMethod.DELETE;
import static com.linecorp.armeria.common.HttpMethod.GET;
import static com.linecorp.armeria.common.HttpMethod.HEAD;
import static com.linecorp.armeria.common.HttpMethod.POST;
import static com.linecorp.armeria.common.HttpMethod.PUT;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import io.kvsep.KvStore;
import io.kvsep.server.http.Route.Body;
import io.kvsep.server.http.Route.Handler;
import io.kvsep.server.http.Route.Operation;
import io.kvsep.server.http.Route.Time;
import io.kvsep.server.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/** All routes of the server. A test compares them with the OpenAPI document. */
final class Routes {
  private static final String JAVASCRIPT = "text/javascript; charset=utf-8";

  private final RequestMeter meter;
  private final KeyspaceCache keyspaces;
  private final List<Route> all = new ArrayList<>();

  /**
   * @param values values of the variables, still encoded
   */
  record Match(Route route, List<String> values) {}

  Routes(
      KvStore store,
      KeyspaceCache keyspaces,
      HttpOptions options,
      AdmissionControl gate,
      EntityTags tags,
      MonitoringApi insight,
      ChangeFeedApi feeds,
      ScheduledExecutorService longWorkers) {
    this.meter = insight.meter();
    this.keyspaces = keyspaces;
    Entries entries = new Entries(store, keyspaces, options.limits(), gate, tags);
    addEntries(entries);
    addRanges(new Scans(store, keyspaces, options.limits(), gate, longWorkers));
    addChanges(new BatchApi(store, keyspaces, entries, tags, options.limits()));
    addFeeds(feeds);
    addKeyspaces();
    addUpkeep(new AdminApi(store, options.checkpoints()));
    addInsight(insight);
    addFiles();
  }

  List<Route> all() {
    return all;
  }

  /** Null if no route matches. */
  @Nullable Match find(String path) {
    for (Route route : all) {
      List<String> values = route.match(path);
      if (values != null) {
        return new Match(route, values);
      }
    }
    return null;
  }

  /** The answer to a method that no route supports. */
  Problem refusal(String target) {
    if (!target.startsWith("/")) {
      // Targets the server as a whole, or another server.
      EnumSet<HttpMethod> methods = EnumSet.noneOf(HttpMethod.class);
      all.forEach(route -> methods.addAll(route.operations().keySet()));
      return Problem.notAllowed(methods);
    }
    int mark = target.indexOf('?');
    Match match = find(mark < 0 ? target : target.substring(0, mark));
    return match == null
        ? Problem.noSuchResource()
        : Problem.notAllowed(match.route().operations().keySet());
  }

  private void addEntries(Entries entries) {
    Operation get =
        new Operation(
            meter.kind("get"),
            Body.NONE,
            Time.BOUNDED,
            entries::get,
            entries::getLong,
            entries::getOnLoop);
    for (String template :
        List.of(
            "/v1/keys/{key}",
            "/v1/keys64/{key}",
            "/v1/keyspaces/{name}/keys/{key}",
            "/v1/keyspaces/{name}/keys64/{key}")) {
      all.add(
          Route.at(template)
              .on(GET, get)
              .on(HEAD, get)
              .on(PUT, operation("put", Body.VALUE, entries::put))
              .on(DELETE, operation("delete", Body.NONE, entries::delete)));
    }
  }

  private void addRanges(Scans scans) {
    Operation scan =
        new Operation(
            meter.kind("scan"), Body.NONE, Time.BOUNDED, scans::scan, scans::scanLong, null);
    all.add(Route.at("/v1/scan").on(GET, scan));
    all.add(Route.at("/v1/keyspaces/{name}/scan").on(GET, scan));
  }

  private void addChanges(BatchApi changes) {
    all.add(
        Route.readAt("/v1/get").on(POST, operation("getMany", Body.DOCUMENT, changes::getMany)));
    all.add(Route.at("/v1/batch").on(POST, operation("batch", Body.DOCUMENT, changes::batch)));
    all.add(
        Route.at("/v1/transaction")
            .on(POST, operation("transaction", Body.DOCUMENT, changes::transaction)));
    all.add(
        Route.at("/v1/increment")
            .on(POST, operation("increment", Body.DOCUMENT, changes::increment)));
  }

  private void addFeeds(ChangeFeedApi feeds) {
    Operation changes =
        new Operation(meter.kind("changes"), Body.NONE, Time.ANY, feeds::changes, null, null);
    all.add(Route.at("/v1/changes").on(GET, changes));
    all.add(Route.at("/v1/keyspaces/{name}/changes").on(GET, changes));
  }

  private void addKeyspaces() {
    all.add(
        Route.at("/v1/keyspaces")
            .on(
                GET,
                operation(
                    "keyspaces",
                    Body.NONE,
                    exchange ->
                        Answers.json(new JsonObject().putNames("keyspaces", keyspaces.names())))));
    all.add(
        Route.at("/v1/keyspaces/{name}")
            .on(PUT, operation("keyspaces", Body.NONE, this::createKeyspace))
            .on(DELETE, operation("keyspaces", Body.NONE, this::dropKeyspace)));
  }

  private HttpResponse createKeyspace(Exchange exchange) {
    exchange.requireNoQuery();
    boolean isNew = keyspaces.create(String.valueOf(exchange.keyspace()));
    return isNew ? Answers.created() : Answers.done();
  }

  private HttpResponse dropKeyspace(Exchange exchange) {
    exchange.requireNoQuery();
    keyspaces.drop(String.valueOf(exchange.keyspace()));
    return Answers.done();
  }

  private void addUpkeep(AdminApi upkeep) {
    addUpkeep("sync", Body.NONE, upkeep::sync);
    addUpkeep("flush", Body.NONE, upkeep::flush);
    addUpkeep("compact", Body.NONE, upkeep::compact);
    addUpkeep("reclaim", Body.NONE, upkeep::reclaim);
    addUpkeep("verify", Body.NONE, upkeep::verify);
    addUpkeep("checkpoint", Body.DOCUMENT, upkeep::checkpoint);
  }

  void addCluster(ClusterApi cluster) {
    all.add(Route.at("/v1/cluster").on(GET, operation("cluster", Body.NONE, cluster::status)));
    all.add(
        Route.at("/v1/cluster/members").on(POST, change("cluster", Body.DOCUMENT, cluster::add)));
    all.add(
        Route.at("/v1/cluster/members/{node}")
            .on(DELETE, change("cluster", Body.NONE, cluster::remove)));
    all.add(
        Route.at("/v1/cluster/leader")
            .on(POST, change("cluster", Body.DOCUMENT, cluster::transferLeadership)));
    all.add(
        Route.at("/v1/cluster/snapshot")
            .on(POST, change("cluster", Body.NONE, cluster::takeSnapshot)));
  }

  private void addUpkeep(String name, Body body, Handler handler) {
    all.add(Route.at("/v1/admin/" + name).on(POST, change("admin", body, handler)));
  }

  /** An operation that may take any time. */
  private Operation change(String kind, Body body, Handler handler) {
    return new Operation(meter.kind(kind), body, Time.ANY, handler::answer, null, null);
  }

  void addBackup(BackupApi backups) {
    Operation backup =
        new Operation(meter.kind("admin"), Body.NONE, Time.ANY, backups::backup, null, null);
    all.add(Route.at("/v1/backup").on(GET, backup));
  }

  private void addInsight(MonitoringApi insight) {
    all.add(Route.at("/v1/stats").on(GET, operation("stats", Body.NONE, insight::stats)));
    all.add(Route.at("/metrics").on(GET, operation("metrics", Body.NONE, insight::metrics)));
    all.add(Route.openAt("/health").on(GET, operation("health", Body.NONE, insight::health)));
  }

  private void addFiles() {
    addFile("/", "page/index.html", "text/html; charset=utf-8");
    addFile("/page/style.css", "page/style.css", "text/css; charset=utf-8");
    for (String script : List.of("app.js", "charts.js", "api.js", "browse.js")) {
      addFile("/page/" + script, "page/" + script, JAVASCRIPT);
    }
    addFile("/page/icon.svg", "page/icon.svg", "image/svg+xml");
    addFile("/v1/openapi.json", "openapi.json", "application/json");
  }

  private void addFile(String template, String name, String contentType) {
    Operation file = operation("page", Body.NONE, PageFiles.file(name, contentType));
    all.add(Route.openAt(template).on(GET, file).on(HEAD, file));
  }

  private Operation operation(String kind, Body body, Handler handler) {
    return new Operation(meter.kind(kind), body, Time.BOUNDED, handler::answer, null, null);
  }
}
