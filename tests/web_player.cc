// The page of a job that exists only as text: the real server, and a source that is told by stdin.
// A line "job {…}", "nodes {…}" or "figures {…}" is the part's new text; "page PATH TEXT" makes a
// further page; "end" ends it as the end of a run does, and so does the end of stdin. Prints the
// URL first, then "looked at" and "not looked at".
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <map>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "base/text/text.h"
#include "observe/web/server.h"

namespace {

using toprun::web::Page;
using toprun::web::Part;
using toprun::web::Server;
using toprun::web::Text;
namespace asio = boost::asio;

void tell(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

class PlayedParts : public toprun::web::Source {
 public:
  Text text(Part part) override { return texts_[static_cast<std::size_t>(part)]; }
  void looked_at(bool by_somebody) override { tell(by_somebody ? "looked at" : "not looked at"); }
  asio::awaitable<std::optional<Page>> page(std::string path, std::string) override {
    const auto found = pages_.find(path);
    if (found == pages_.end()) co_return std::nullopt;
    co_return Page{200, "text/plain; charset=utf-8", found->second};
  }

  // What has changed, if it is a part.
  std::optional<Part> take(std::string_view line) {
    const auto blank = line.find(' ');
    const std::string_view name = line.substr(0, blank);
    std::string rest(blank == line.npos ? std::string_view() : line.substr(blank + 1));
    if (name == "page") {
      const auto end = rest.find(' ');
      pages_[rest.substr(0, end)] = rest.substr(end + 1);
      return std::nullopt;
    }
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (name != toprun::web::part_names[i]) continue;
      texts_[i] = std::make_shared<const std::string>(std::move(rest));
      return static_cast<Part>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<Text, toprun::web::part_names.size()> texts_;
  std::map<std::string, std::string> pages_;
};

asio::awaitable<void> finish(Server& server, asio::io_context& io) {
  co_await server.finish();
  io.stop();
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  toprun::web::ListenAddress at;
  if (argc > 1) at.port = static_cast<int>(toprun::parse_int(argv[1]).value_or(0));
  if (argc > 2) at.token = argv[2];
  asio::io_context io;
  PlayedParts source;
  const auto server = Server::listen(io, at, source);
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().line());
    return 1;
  }
  tell((*server)->url());
  std::thread reader([&] {
    for (std::string line; std::getline(std::cin, line) && line != "end";) {
      asio::post(io, [&, line = std::move(line)] {
        if (const auto part = source.take(line)) (*server)->changed(*part);
      });
    }
    asio::post(io, [&] { asio::co_spawn(io, finish(**server, io), asio::detached); });
  });
  io.run();
  reader.join();
}
