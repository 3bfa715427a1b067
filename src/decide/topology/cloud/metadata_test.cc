// Tests the client with a server over loopback that answers like real and broken ones.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "decide/topology/cloud/cloud.h"

namespace toprun::topology {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto slack = 60s;  // for a busy machine; without a deadline it would take for ever

// Accepts one connection after another, reads its request and passes it to `respond`.
class Server {
 public:
  using Respond = std::function<void(const std::string& request, tcp::socket& socket)>;
  explicit Server(Respond respond)
      : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        endpoint_(acceptor_.local_endpoint()),
        respond_(std::move(respond)),
        thread_([this] { serve(); }) {}
  // Answers every request with these bytes.
  explicit Server(std::string bytes)
      : Server([bytes = std::move(bytes)](const std::string&, tcp::socket& socket) {
          boost::system::error_code ignored;
          asio::write(socket, asio::buffer(bytes), ignored);
        }) {}
  ~Server() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // ends accept()
    thread_.join();
  }
  tcp::endpoint endpoint() const { return endpoint_; }

 private:
  void serve() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      std::string request;
      asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", error);
      if (!error) respond_(request, socket);
    }
  }

  asio::io_context io_;
  tcp::acceptor acceptor_;
  const tcp::endpoint endpoint_;
  const Respond respond_;
  std::thread thread_;
};

// Waits until the client has closed the connection.
void wait_for_end(tcp::socket& socket) {
  char byte = 0;
  boost::system::error_code error;
  while (!error) socket.read_some(asio::buffer(&byte, 1), error);
}

template <class T>
T result_of(asio::awaitable<T> task) {
  asio::io_context io;
  std::optional<T> result;
  asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& error, T value) {
    if (error) std::rethrow_exception(error);
    result.emplace(std::move(value));
  });
  io.run_for(slack);
  if (!result) throw std::runtime_error("no result in time");
  return *std::move(result);
}

std::string asked(const tcp::endpoint& server, std::chrono::milliseconds budget = slack) {
  const auto answer = result_of(topology::ask(server, {"/a/b", {{"Key", "value"}}, false},
                                              std::chrono::steady_clock::now() + budget));
  if (!answer) return "error: " + answer.error()->why;
  return *answer ? "'" + **answer + "'" : "none";
}

TEST(Metadata, AnswersAndTheirDefects) {
  const std::string body(max_metadata_body_bytes, 'x');
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "'ok'"},
      {"HTTP/1.0 200 OK\r\n\r\n/c/r/h\n", "'/c/r/h\n'"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "''"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "'ok'"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n" + body, "'" + body + "'"},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "none"},
      {"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
       "error: it answered 500 Internal Server Error"},
      {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n",
       "error: it answered 302 Found"},
      {"HTTP/1.1 204 No Content\r\n\r\n", "error: it answered 204 No Content"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n" + body,
       "error: the answer is longer than 64 KiB"},
      {"HTTP/1.1 200 OK\r\n\r\n" + body + "x", "error: the answer is longer than 64 KiB"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n",
       "error: the answer is longer than 64 KiB"},
      {"HTTP/1.1 200 OK\r\nX: " + body + "\r\n\r\n",
       "error: the answer's header is longer than 16 KiB"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "error: the answer is incomplete"},
      {"HTTP/1.1 200", "error: the answer is incomplete"},
      {"", "error: the connection was closed without an answer"},
      {"SSH-2.0-OpenSSH_9.2p1\r\n", "error: the server does not use HTTP"},
      {std::string(5000, '\0'), "error: the server does not use HTTP"},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "error: the server does not use HTTP"},
  };
  for (const auto& [bytes, expected] : rows) {
    Server server(bytes);
    EXPECT_EQ(asked(server.endpoint()), expected) << bytes.substr(0, 80);
  }
}

TEST(Metadata, AsksInOneRequest) {
  std::vector<std::string> requests;
  {
    Server server([&](const std::string& request, tcp::socket& socket) {
      requests.push_back(request);
      asio::write(socket, asio::buffer(std::string("HTTP/1.1 404 No\r\n\r\n")));
    });
    const auto deadline = std::chrono::steady_clock::now() + slack;
    EXPECT_TRUE(
        result_of(topology::ask(server.endpoint(), {"/a", {{"Key", "value"}}, false}, deadline)));
    EXPECT_TRUE(result_of(topology::ask(server.endpoint(), {"/b", {}, true}, deadline)));
  }
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].starts_with("GET /a HTTP/1.1\r\nHost: 127.0.0.1:")) << requests[0];
  EXPECT_TRUE(requests[0].contains("\r\nKey: value\r\n")) << requests[0];
  EXPECT_TRUE(requests[0].contains("\r\nConnection: close\r\n")) << requests[0];
  EXPECT_TRUE(requests[1].starts_with("PUT /b HTTP/1.1\r\n")) << requests[1];
  EXPECT_TRUE(requests[1].contains("\r\nContent-Length: 0\r\n")) << requests[1];
}

TEST(Metadata, TheDeadlineHoldsWhateverTheServerDoes) {
  const auto silent = [](const std::string&, tcp::socket& socket) { wait_for_end(socket); };
  const auto trickling = [](const std::string&, tcp::socket& socket) {
    boost::system::error_code error;
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 200 OK\r\n\r\n")), error);
    while (!error) {
      asio::write(socket, asio::buffer("x", 1), error);
      std::this_thread::sleep_for(10ms);
    }
  };
  const auto half = [](const std::string&, tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 200 OK\r\nContent-Le")));
    wait_for_end(socket);
  };
  for (const Server::Respond& respond :
       {Server::Respond(silent), Server::Respond(trickling), Server::Respond(half)}) {
    Server server(respond);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(asked(server.endpoint(), 300ms).starts_with("error: no answer within 3"));
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, 290ms);
    EXPECT_LT(took, 300ms + slack);
  }
}

TEST(Metadata, NobodyListens) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const tcp::endpoint endpoint = acceptor.local_endpoint();
  acceptor.close();
  EXPECT_EQ(asked(endpoint), "error: connection refused");
  EXPECT_EQ(asked(endpoint, -1ms), "error: no time was left to ask the metadata server");
}

// The result for an answer of the cloud's server: the text, "none" or the error.
std::string evidence_of(Cloud cloud, const Server& server) {
  const auto deadline = std::chrono::steady_clock::now() + slack;
  const CloudEvidence evidence = result_of(ask_cloud(cloud, server.endpoint(), deadline));
  EXPECT_EQ(evidence.cloud, name_of(cloud));
  if (!evidence.trouble.empty()) return "trouble: " + evidence.trouble;
  return evidence.text ? "'" + *evidence.text + "'" : "none";
}

// Serves one value at a path to requests that carry a header.
Server::Respond serving(std::string line, std::string header, std::string value) {
  return [=](const std::string& request, tcp::socket& socket) {
    const bool right =
        request.starts_with(line + " HTTP/1.1\r\n") && request.contains("\r\n" + header + "\r\n");
    asio::write(socket, asio::buffer("HTTP/1.1 " + std::string(right ? "200 OK" : "403 Forbidden") +
                                     "\r\n\r\n" + value));
  };
}

TEST(AskCloud, EachCloudInItsOwnWay) {
  Server gcp(serving("GET /computeMetadata/v1/instance/attributes/physical_host",
                     "Metadata-Flavor: Google", "/c/r/h"));
  EXPECT_EQ(evidence_of(Cloud::gcp, gcp), "'/c/r/h'");
  EXPECT_TRUE(evidence_of(Cloud::oci, gcp).contains("it answered 403 Forbidden"));

  Server oci(serving("GET /opc/v2/host/rdmaTopologyData", "Authorization: Bearer Oracle", "{}"));
  EXPECT_EQ(evidence_of(Cloud::oci, oci), "'{}'");

  const auto token =
      serving("PUT /latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60", "AQAEA==");
  const auto id =
      serving("GET /latest/meta-data/instance-id", "X-aws-ec2-metadata-token: AQAEA==", "i-0a1");
  Server aws([&](const std::string& request, tcp::socket& socket) {
    (request.starts_with("PUT") ? token : id)(request, socket);
  });
  EXPECT_EQ(evidence_of(Cloud::aws, aws), "'i-0a1'");
}

TEST(AskCloud, WhatIsNoEvidence) {
  const auto answer = [](const std::string& body) { return "HTTP/1.1 200 OK\r\n\r\n" + body; };
  EXPECT_EQ(evidence_of(Cloud::gcp, Server(answer(""))), "''");
  EXPECT_EQ(evidence_of(Cloud::gcp, Server("HTTP/1.1 404 No\r\n\r\n")), "none");
  EXPECT_EQ(evidence_of(Cloud::gcp, Server(answer(std::string(4097, 'x')))),
            "trouble: the metadata server's answer has 4097 bytes; at most 4096 bytes are read");
  EXPECT_EQ(evidence_of(Cloud::gcp, Server(answer("\xff"))),
            "trouble: the metadata server's answer is not plain text");
  EXPECT_EQ(evidence_of(Cloud::aws, Server("HTTP/1.1 404 No\r\n\r\n")),
            "trouble: the metadata server gave no token");
  // A token becomes a header of the next request.
  EXPECT_EQ(evidence_of(Cloud::aws, Server(answer("a\r\nX: b"))),
            "trouble: the metadata server gave no token");
  EXPECT_TRUE(evidence_of(Cloud::aws, Server("HTTP/1.1 403 No\r\n\r\n"))
                  .ends_with("PUT /latest/api/token: it answered 403 Forbidden; in a container, "
                             "raise the instance's metadata hop limit to 2"));
}

}  // namespace
}  // namespace toprun::topology
