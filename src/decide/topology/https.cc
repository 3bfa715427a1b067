#include "decide/topology/https.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
#endif
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun::topology {
namespace {

namespace http = boost::beast::http;
using std::chrono::milliseconds;

constexpr std::size_t at_a_time = 64 * 1024;
constexpr std::uint32_t max_header_bytes = 16u << 10;
// GeneralName iPAddress of RFC 5280, section 4.2.1.6.
constexpr int address_tag = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7;
constexpr const char* no_answer = "no answer within the time";

int random_bytes(void*, unsigned char* out, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::getrandom(out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
    out += got;
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

// The bytes of an IPv4 or IPv6 address; empty: the text is none.
std::string bytes_of_address(const std::string& text) {
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return {bytes.data(), sizeof(in_addr)};
  }
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return {bytes.data(), bytes.size()};
  return {};
}

// mbed TLS 2.28 compares names alone.
bool has_address(const mbedtls_x509_crt& certificate, std::string_view address) {
  for (const mbedtls_x509_sequence* one = &certificate.subject_alt_names; one != nullptr;
       one = one->next) {
    const std::string_view bytes(reinterpret_cast<const char*>(one->buf.p), one->buf.len);
    if (one->buf.tag == address_tag && bytes == address) return true;
  }
  return false;
}

// Takes the fault of another name back where the server's own certificate has one of the addresses.
int check_addresses(void* addresses, mbedtls_x509_crt* certificate, int depth,
                    std::uint32_t* faults) {
  const auto& requested = *static_cast<const std::vector<std::string>*>(addresses);
  const bool has_one =
      depth == 0 && std::ranges::any_of(requested, [&](const std::string& address) {
        return has_address(*certificate, address);
      });
  if (has_one) *faults &= ~static_cast<std::uint32_t>(MBEDTLS_X509_BADCERT_CN_MISMATCH);
  return 0;
}

// TLS 1.3 has tickets between what is read.
bool is_to_be_repeated(int code) {
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
  if (code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) return true;
#endif
  return code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE;
}

std::string text_of_faults(std::uint32_t faults) {
  if (faults & MBEDTLS_X509_BADCERT_EXPIRED) return "its certificate has expired";
  if (faults & MBEDTLS_X509_BADCERT_FUTURE) return "its certificate is not valid yet";
  if (faults & MBEDTLS_X509_BADCERT_CN_MISMATCH) return "its certificate is for other names";
  if (faults & MBEDTLS_X509_BADCERT_NOT_TRUSTED) {
    return "its certificate is not signed by the pod's certificate authority";
  }
  return fmt::format("its certificate is not trusted (0x{:x})", faults);
}

}  // namespace

struct HttpsConnection::Tls {
  Tls() {
    mbedtls_ssl_config_init(&config);
    mbedtls_x509_crt_init(&authorities);
    mbedtls_ssl_init(&session);
  }
  ~Tls() {
    mbedtls_ssl_free(&session);
    mbedtls_x509_crt_free(&authorities);
    mbedtls_ssl_config_free(&config);
  }
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  std::optional<std::string> connect(const hosts::Address& address, int port);
  std::optional<std::string> begin(const Trust& trust);
  std::optional<std::string> write(std::string_view text);
  std::string text_of_error(int code) const;
  bool is_ready(short events) const;
  static int send(void* self, const unsigned char* data, std::size_t size);
  static int receive(void* self, unsigned char* data, std::size_t size);

  Fd socket;
  SteadyTime deadline;
  std::vector<std::string> addresses;  // as bytes
  mbedtls_ssl_config config;
  mbedtls_x509_crt authorities;
  mbedtls_ssl_context session;
};

// False at the deadline.
bool HttpsConnection::Tls::is_ready(short events) const {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd polled{socket.get(), events, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

int HttpsConnection::Tls::send(void* self, const unsigned char* data, std::size_t size) {
  const Tls& tls = *static_cast<const Tls*>(self);
  if (!tls.is_ready(POLLOUT)) return MBEDTLS_ERR_SSL_TIMEOUT;
  const ssize_t sent = ::send(tls.socket.get(), data, size, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  const bool is_to_wait = errno == EAGAIN || errno == EINTR;
  return is_to_wait ? MBEDTLS_ERR_SSL_WANT_WRITE : MBEDTLS_ERR_SSL_CONN_EOF;
}

int HttpsConnection::Tls::receive(void* self, unsigned char* data, std::size_t size) {
  const Tls& tls = *static_cast<const Tls*>(self);
  if (!tls.is_ready(POLLIN)) return MBEDTLS_ERR_SSL_TIMEOUT;
  const ssize_t got = ::recv(tls.socket.get(), data, size, 0);
  if (got >= 0) return static_cast<int>(got);
  const bool is_to_wait = errno == EAGAIN || errno == EINTR;
  return is_to_wait ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
}

std::optional<std::string> HttpsConnection::Tls::connect(const hosts::Address& address, int port) {
  socket = hosts::begin_to_connect(address, port);
  if (!socket) return lower(errno_text(errno));
  if (!is_ready(POLLOUT)) return no_answer;
  const int code = hosts::connection_error(socket);
  return code == 0 ? std::nullopt : std::optional(lower(errno_text(code)));
}

std::optional<std::string> HttpsConnection::Tls::begin(const Trust& trust) {
#if MBEDTLS_VERSION_MAJOR >= 3
  if (psa_crypto_init() != PSA_SUCCESS) return "the TLS library cannot begin";
#endif
  // The terminating zero belongs to a PEM text.
  const auto* const pem = reinterpret_cast<const unsigned char*>(trust.authorities.c_str());
  if (mbedtls_x509_crt_parse(&authorities, pem, trust.authorities.size() + 1) < 0) {
    return "the authorities' certificates cannot be read";
  }
  std::string name;
  for (const std::string& one : trust.names) {
    if (std::string bytes = bytes_of_address(one); !bytes.empty()) {
      addresses.push_back(std::move(bytes));
    } else if (name.empty()) {
      name = one;
    }
  }
  mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                              MBEDTLS_SSL_PRESET_DEFAULT);
  mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ca_chain(&config, &authorities, nullptr);
  mbedtls_ssl_conf_verify(&config, check_addresses, &addresses);
  mbedtls_ssl_conf_rng(&config, random_bytes, nullptr);
#if MBEDTLS_VERSION_MAJOR < 3
  mbedtls_ssl_conf_min_version(&config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
#endif
  if (mbedtls_ssl_setup(&session, &config) != 0 ||
      mbedtls_ssl_set_hostname(&session, name.c_str()) != 0) {
    return "out of memory";
  }
  mbedtls_ssl_set_bio(&session, this, send, receive, nullptr);
  while (true) {
    const int code = mbedtls_ssl_handshake(&session);
    if (code == 0) return std::nullopt;
    if (is_to_be_repeated(code)) continue;
    return text_of_error(code);
  }
}

std::string HttpsConnection::Tls::text_of_error(int code) const {
  if (code == MBEDTLS_ERR_SSL_TIMEOUT) return no_answer;
  if (code == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED) {
    return text_of_faults(mbedtls_ssl_get_verify_result(&session));
  }
  if (code == MBEDTLS_ERR_SSL_CONN_EOF || code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || code == 0) {
    return "the connection was closed without an answer";
  }
  if (code == MBEDTLS_ERR_SSL_INVALID_RECORD) return "the server does not use TLS";
  if (code == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
    return "the server refuses this version of TLS, or all of the ciphers that toprun knows";
  }
  return fmt::format("TLS fails (-0x{:04x})", -code);
}

std::optional<std::string> HttpsConnection::Tls::write(std::string_view text) {
  while (!text.empty()) {
    const int sent = mbedtls_ssl_write(
        &session, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    if (is_to_be_repeated(sent)) continue;
    if (sent <= 0) return text_of_error(sent);
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return std::nullopt;
}

HttpsConnection::HttpsConnection(std::unique_ptr<Tls> tls) : tls_(std::move(tls)) {}
HttpsConnection::HttpsConnection(HttpsConnection&&) noexcept = default;
HttpsConnection::~HttpsConnection() = default;

std::expected<HttpsConnection, std::string> HttpsConnection::open(const hosts::Address& address,
                                                                  int port, const Trust& trust,
                                                                  SteadyTime deadline) {
  auto tls = std::make_unique<Tls>();
  tls->deadline = deadline;
  if (auto why = tls->connect(address, port)) return std::unexpected(*std::move(why));
  if (auto why = tls->begin(trust)) return std::unexpected(*std::move(why));
  return HttpsConnection(std::move(tls));
}

std::expected<HttpsAnswer, std::string> HttpsConnection::get(
    std::string_view path, const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string request = fmt::format("GET {} HTTP/1.1\r\n", path);
  for (const auto& [name, value] : headers) request += fmt::format("{}: {}\r\n", name, value);
  if (auto why = tls_->write(request + "\r\n")) return std::unexpected(*std::move(why));
  http::response_parser<http::string_body> answer;
  answer.eager(true);
  answer.header_limit(max_header_bytes);
  answer.body_limit(max_https_body_bytes);
  std::string unused;  // the begin of what the parser needs more of
  while (!answer.is_done()) {
    const std::size_t kept = unused.size();
    unused.resize(kept + at_a_time);
    const int got = mbedtls_ssl_read(
        &tls_->session, reinterpret_cast<unsigned char*>(unused.data()) + kept, at_a_time);
    unused.resize(kept + static_cast<std::size_t>(std::max(got, 0)));
    if (is_to_be_repeated(got)) continue;
    if (got <= 0) return std::unexpected(tls_->text_of_error(got));
    while (!unused.empty() && !answer.is_done()) {
      boost::system::error_code error;
      unused.erase(0, answer.put(boost::asio::const_buffer(unused.data(), unused.size()), error));
      if (error == http::error::need_more) break;
      if (error == http::error::body_limit) {
        return std::unexpected(
            fmt::format("the answer is longer than {} MiB", max_https_body_bytes >> 20));
      }
      if (error) return std::unexpected("the server does not use HTTP");
    }
  }
  const bool is_last = !answer.keep_alive();
  return HttpsAnswer{answer.get().result_int(), std::move(answer.get().body()), is_last};
}

}  // namespace toprun::topology
