#include "observe/web/address_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::web {
namespace {

using nlohmann::json;

constexpr mode_t of_the_user = 0600;
constexpr std::size_t longest_file = 4'096;

}  // namespace

std::string address_file(const std::string& folder) {
  return folder + "/page.json";
}

Result<void> write_address(const std::string& folder, const PageAddress& address) {
  const std::string path = address_file(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  ::unlink(path.c_str());  // an older one may have other permissions
  const Fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, of_the_user));
  if (!file) return fail_errno("cannot write " + path);
  const json content = {{"host", address.host}, {"url", address.url}};
  if (!write_all(file.get(), json_text(content) + '\n')) return fail_errno("cannot write " + path);
  return {};
}

std::optional<PageAddress> read_address(const std::string& folder) {
  const auto text = read_plain_file(address_file(folder), longest_file);
  if (!text) return std::nullopt;
  const json content = json_in(*text);
  PageAddress address{text_at(content, "host"), text_at(content, "url")};
  if (address.url.empty()) return std::nullopt;
  return address;
}

std::optional<int> port_on_loopback(const PageAddress& address) {
  constexpr std::string_view begin = "http://127.0.0.1:";
  const std::string& url = address.url.raw();
  if (!url.starts_with(begin)) return std::nullopt;
  const std::string_view rest = std::string_view(url).substr(begin.size());
  const auto port = parse_int(rest.substr(0, rest.find('/')));
  if (!port || *port <= 0 || *port > 65'535) return std::nullopt;
  return static_cast<int>(*port);
}

}  // namespace toprun::web
