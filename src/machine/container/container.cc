#include "machine/container/container.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text/text.h"
#include "machine/container/image.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

constexpr std::array image_folders{"/"sv,      "/usr"sv,  "/etc"sv, "/bin"sv, "/sbin"sv, "/lib"sv,
                                   "/lib64"sv, "/proc"sv, "/sys"sv, "/dev"sv, "/var"sv,  "/run"sv};

std::string normal(std::string_view path) {
  std::string text = std::filesystem::path(path).lexically_normal();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::unexpected<Error> bad_bind(std::string_view bind, std::string why) {
  return usage(fmt::format("--bind {}", printable(bind)), std::move(why),
               "the form is SRC[:DST[:ro|rw]]");
}

}  // namespace

Result<Bind> parse_bind(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts[0].empty()) return bad_bind(text, "the folder to bind is missing");
  if (parts.size() > 3) return bad_bind(text, "a path with ':' in it cannot be bound");
  if (!is_printable(text)) return bad_bind(text, "control characters are not allowed");
  if (parts[0].starts_with('~')) {
    return usage(fmt::format("--bind {}", text), "the shell has not replaced the '~'",
                 "write the path as $HOME/...");
  }
  Bind bind;
  bind.source = normal(parts[0]);
  bind.target = bind.source;
  if (parts.size() > 1) {
    if (!parts[1].starts_with('/')) return bad_bind(text, "the path inside must be absolute");
    bind.target = normal(parts[1]);
  }
  if (bind.target == "/") return bad_bind(text, "the folder would hide the whole image");
  if (parts.size() > 2) {
    if (parts[2] != "ro" && parts[2] != "rw") {
      return bad_bind(text, fmt::format("{} is neither ro nor rw", printable(parts[2])));
    }
    bind.read_only = parts[2] == "ro";
  }
  return bind;
}

void make_absolute(Request& request, std::string_view folder) {
  const auto whole = [&](const std::string& path) {
    return normal((std::filesystem::path(folder) / path).native());
  };
  for (Bind& bind : request.binds) {
    bind.source = whole(bind.source);
    bind.target = whole(bind.target);
  }
  auto image = parse_image(request.image);
  if (!image || !image->is_path()) return;
  request.image = (image->transport.empty() ? "" : image->transport + ":") + whole(image->path);
}

std::vector<Bind> default_binds(std::string_view folder) {
  const std::string path = normal(folder);
  if (std::ranges::find(image_folders, path) != image_folders.end()) return {};
  return {Bind{.source = path, .target = path}};
}

std::vector<Bind> in_order(std::span<const Bind> binds) {
  std::vector<Bind> out;
  for (const Bind& bind : binds) {
    std::erase_if(out, [&](const Bind& earlier) { return earlier.target == bind.target; });
    out.push_back(bind);
  }
  std::ranges::stable_sort(out, {},
                           [](const Bind& bind) { return std::ranges::count(bind.target, '/'); });
  return out;
}

}  // namespace toprun::container
