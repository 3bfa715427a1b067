#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/net/address.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::topology {

inline constexpr std::size_t max_https_body_bytes = 16u << 20;

// Whom a connection trusts: a server with a certificate that one of these authorities has signed,
// for one of the names. An address in `names` is compared with the certificate's addresses.
struct Trust {
  std::string authorities;  // PEM
  std::vector<std::string>
      names;  // the first one that is not an address is what the server is asked as
};

struct HttpsAnswer {
  unsigned status = 0;
  std::string body;
  bool is_last = false;  // the server closes the connection behind it
};

// One connection by TLS 1.2 (mbed TLS 2.28) or newer, for requests one after the other:
//
//   open → get … get;  after an error it is of no use any more
//
// Everything blocks, until the deadline at most. Errors: no answer by then, refused, a certificate
// that is not to be trusted, no TLS, no HTTP, a body that is too long; they are reasons alone, to
// stand behind what was asked.
class HttpsConnection {
 public:
  static std::expected<HttpsConnection, std::string> open(const hosts::Address& address, int port,
                                                          const Trust& trust, SteadyTime deadline);
  HttpsConnection(HttpsConnection&&) noexcept;
  ~HttpsConnection();

  std::expected<HttpsAnswer, std::string> get(
      std::string_view path, const std::vector<std::pair<std::string, std::string>>& headers);

 private:
  struct Tls;
  explicit HttpsConnection(std::unique_ptr<Tls> tls);
  std::unique_ptr<Tls> tls_;
};

}  // namespace toprun::topology
