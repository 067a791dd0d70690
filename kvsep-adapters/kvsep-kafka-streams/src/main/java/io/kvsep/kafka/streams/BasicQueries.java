package io.kvsep.kafka.streams;

import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;

/** Interactive queries, answered by Kafka's internal class through the methods of the store. */
final class BasicQueries {
  private BasicQueries() {}

  static <R> QueryResult<R> answer(
      Query<R> query,
      PositionBound bound,
      QueryConfig config,
      StateStore store,
      Position position,
      StateStoreContext context) {
    return StoreQueryUtils.handleBasicQueries(query, bound, config, store, position, context);
  }
}
