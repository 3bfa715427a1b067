#include "node/link/local_link.h"

#include <boost/asio/post.hpp>

namespace toprun::link {
namespace {

class LocalLink : public model::Link {
 public:
  explicit LocalLink(boost::asio::io_context& io) : io_(io) {}
  void connect(const std::shared_ptr<LocalLink>& other) { other_ = other; }

  void send(const nlohmann::json& message) override {
    if (closed_) return;
    boost::asio::post(io_, [other = other_, message] {
      const auto end = other.lock();
      if (end && !end->closed_ && end->on_message) end->on_message(message);
    });
  }
  void close() override {
    if (closed_) return;
    closed_ = true;
    if (on_closed) boost::asio::post(io_, on_closed);
  }

 private:
  boost::asio::io_context& io_;
  std::weak_ptr<LocalLink> other_;
  bool closed_ = false;
};

}  // namespace

std::pair<std::shared_ptr<model::Link>, std::shared_ptr<model::Link>> local_link(
    boost::asio::io_context& io) {
  auto a = std::make_shared<LocalLink>(io);
  auto b = std::make_shared<LocalLink>(io);
  a->connect(b);
  b->connect(a);
  return {a, b};
}

}  // namespace toprun::link
