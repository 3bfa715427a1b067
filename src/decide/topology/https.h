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

// Which servers a connection trusts: the server's certificate has to be signed by one of these
// authorities, for one of the names. An address in `names` is compared with the addresses in the
// certificate.
struct Trust {
  std::string authorities;  // PEM
  std::vector<std::string>
      names;  // the first name that is not an address is sent to the server (SNI)
};

struct HttpsAnswer {
  unsigned status = 0;
  std::string body;
  bool is_last = false;  // the server closes the connection after this answer
};

// One connection with TLS 1.2 (mbed TLS 2.28) or newer, for consecutive requests. Call open() once,
// then get() for each request. After an error, the object is unusable.
//
// All functions block, at most until the deadline. Errors: no answer by the deadline, connection
// refused, an untrusted certificate, no TLS, no HTTP, a body that is too long. An error contains
// only the reason; the caller adds the request to the message.
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
