package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.server.Server;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** The library alone, answering 1 KiB that is always the same: what reads are measured against. */
public final class ConstantServer {
  private ConstantServer() {}

  public static void main(String[] arguments) {
    ResponseHeaders headers =
        ResponseHeaders.builder(HttpStatus.OK)
            .contentType(MediaType.OCTET_STREAM)
            .contentLength(1024)
            .build();
    HttpData content = HttpData.wrap(new byte[1024]);
    int loops = Runtime.getRuntime().availableProcessors();
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    Server.builder()
        .http(address)
        .workerGroup(EventLoopGroups.newEventLoopGroup(loops, "loop"), true)
        .disableServerHeader()
        .serviceUnder("/", (context, request) -> HttpResponse.of(headers, content))
        .build()
        .start()
        .join();
  }
}
