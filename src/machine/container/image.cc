#include "machine/container/image.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

struct Suffix {
  std::string_view text;
  ImageKind kind;
};

constexpr std::array suffixes{
    Suffix{".sif", ImageKind::sif},           Suffix{".simg", ImageKind::sif},
    Suffix{".sqsh", ImageKind::squashfs},     Suffix{".sqfs", ImageKind::squashfs},
    Suffix{".squashfs", ImageKind::squashfs}, Suffix{".tar", ImageKind::archive},
    Suffix{".tar.gz", ImageKind::archive},
};

// Apptainer's and Podman's transports, and enroot's two ways to ask a daemon.
constexpr std::array registries{"docker"sv, "oras"sv, "library"sv, "shub"sv};
constexpr std::array stores{"docker-daemon"sv, "containers-storage"sv, "dockerd"sv, "podman"sv};
constexpr std::array archives{"docker-archive"sv, "oci-archive"sv, "oci"sv};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::unexpected<Error> bad_image(std::string_view image, std::string why, std::string fix = {}) {
  return usage(fmt::format("container image {}", printable(image)), std::move(why), std::move(fix));
}

std::optional<ImageKind> kind_of_path(std::string_view text) {
  for (const Suffix& suffix : suffixes) {
    if (text.ends_with(suffix.text)) return suffix.kind;
  }
  if (text == "." || text == ".." || text.starts_with('/') || text.starts_with("./") ||
      text.starts_with("../")) {
    return ImageKind::folder;
  }
  return std::nullopt;
}

// The word before "://" or, for archives and daemons, before ":" alone.
std::string_view transport_of(std::string_view text) {
  if (const auto end = text.find("://"); end != text.npos) return text.substr(0, end);
  const std::string_view word = text.substr(0, text.find(':'));
  const bool known = is_one_of(stores, word) || is_one_of(archives, word);
  return known && word.size() < text.size() ? word : ""sv;
}

std::string_view without_transport(std::string_view text, std::string_view transport) {
  text.remove_prefix(transport.size() + 1);
  if (text.starts_with("//")) text.remove_prefix(2);
  return text;
}

// Domain of the grammar: what is not a domain is the first part of the name.
bool is_registry(std::string_view part) {
  return part == "localhost" ||
         std::ranges::any_of(part, [](char c) { return c == '.' || c == ':' || is_upper(c); });
}

std::optional<std::string> wrong_with_registry(std::string_view registry) {
  const auto colon = registry.find(':');
  const std::string_view host = registry.substr(0, colon);
  const bool good = std::ranges::all_of(host, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '.' || c == '-';
  });
  if (host.empty() || !good)
    return fmt::format("{} is not the name of a registry", printable(registry));
  if (colon == registry.npos) return std::nullopt;
  const auto port = parse_int(registry.substr(colon + 1));
  if (port && *port > 0 && *port < 65536) return std::nullopt;
  return fmt::format("{} has no port between 1 and 65535", printable(registry));
}

// path-component: alphanumeric [separator alphanumeric]*, separator: one dot, one or two
// underscores, dashes.
std::optional<std::string> wrong_with_component(std::string_view part) {
  if (part.empty()) return "a part between slashes is empty";
  for (const char c : part) {
    if (is_upper(c))
      return fmt::format("names have only lower-case letters, and {} does not", printable(part));
    if (is_lower(c) || is_digit(c) || c == '.' || c == '_' || c == '-') continue;
    return fmt::format("'{}' is not allowed in a name", printable({&c, 1}));
  }
  const auto is_inner = [](char c) { return c == '.' || c == '_' || c == '-'; };
  const bool doubled = part.contains("..") || part.contains("___") || part.contains("._") ||
                       part.contains("_.") || part.contains(".-") || part.contains("-.") ||
                       part.contains("_-") || part.contains("-_");
  if (is_inner(part.front()) || is_inner(part.back()) || doubled) {
    return fmt::format("{} must have letters or digits around each separator", part);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_tag(std::string_view tag) {
  if (tag.empty()) return "the tag after ':' is empty";
  if (tag.size() > max_image_tag) return fmt::format("a tag has at most {} bytes", max_image_tag);
  for (const char c : tag) {
    if (is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.' || c == '-') continue;
    return fmt::format("'{}' is not allowed in a tag", printable({&c, 1}));
  }
  if (tag.front() == '.' || tag.front() == '-') {
    return fmt::format("a tag does not begin with '{}'", tag.front());
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_digest(std::string_view digest) {
  constexpr std::size_t least_digits = 32;
  const auto colon = digest.find(':');
  const std::string_view digits = digest.substr(colon == digest.npos ? digest.size() : colon + 1);
  const bool hex =
      std::ranges::all_of(digits, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  const std::size_t request = digest.starts_with("sha256:") ? 64 : digits.size();
  if (hex && digits.size() >= least_digits && digits.size() == request) return std::nullopt;
  return "what follows '@' is not a digest, such as sha256: and 64 hexadecimal digits";
}

std::optional<std::string> wrong_with_name(const Image& image) {
  if (image.name.size() > max_image_name) {
    return fmt::format("a name has at most {} bytes", max_image_name);
  }
  for (const std::string_view part : split(image.name, '/')) {
    if (auto wrong = wrong_with_component(part)) return wrong;
  }
  return std::nullopt;
}

// Takes "REGISTRY/" or enroot's "REGISTRY#" off the text.
std::string_view take_registry(std::string_view& text) {
  const auto hash = text.find('#');
  const auto end = hash != text.npos ? hash : text.find('/');
  if (end == text.npos) return {};
  const std::string_view registry = text.substr(0, end);
  if (hash == text.npos && !is_registry(registry)) return {};
  text.remove_prefix(end + 1);
  return registry;
}

Result<Image> parse_reference(std::string_view whole, std::string_view transport,
                              std::string_view text) {
  Image image{.transport = std::string(transport)};
  if (text.empty()) return bad_image(whole, "a name must follow");
  image.path = text;
  if (const auto at = text.find('@'); at != text.npos && !text.substr(at).contains(':')) {
    image.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  } else if (at != text.npos && text.substr(at).find('/') != text.npos) {
    image.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  if (const auto at = text.find('@'); at != text.npos) {
    image.digest = text.substr(at + 1);
    text = text.substr(0, at);
    if (const auto wrong = wrong_with_digest(image.digest)) return bad_image(whole, *wrong);
  }
  image.registry = take_registry(text);
  if (!image.registry.empty()) {
    if (const auto wrong = wrong_with_registry(image.registry)) return bad_image(whole, *wrong);
  }
  const auto colon = text.find(':');
  image.name = text.substr(0, colon);
  if (const auto wrong = wrong_with_name(image)) {
    const bool looks_like_file = image.name.contains('/') && image.registry.empty();
    return bad_image(
        whole, *wrong,
        looks_like_file ? fmt::format("for a folder write ./{}", printable(whole)) : "");
  }
  if (colon == text.npos) return image;
  image.tag = text.substr(colon + 1);
  if (const auto wrong = wrong_with_tag(image.tag)) return bad_image(whole, *wrong);
  return image;
}

}  // namespace

Result<Image> parse_image(std::string_view text) {
  if (text.empty()) return bad_image("''", "must not be empty");
  if (!is_printable(text)) return bad_image(text, "control characters are not allowed");
  if (text.starts_with('-')) return bad_image(text, "an image does not begin with '-'");
  const std::string_view transport = transport_of(text);
  if (transport.empty()) {
    if (const auto kind = kind_of_path(text)) {
      return Image{.kind = *kind, .path = std::string(text)};
    }
    if (text.starts_with('~')) {
      return bad_image(text, "the shell has not replaced the '~'", "write the path as $HOME/...");
    }
    return parse_reference(text, {}, text);
  }
  const std::string_view rest = without_transport(text, transport);
  if (is_one_of(archives, transport)) {
    if (rest.empty()) return bad_image(text, "a path must follow");
    return Image{
        .kind = ImageKind::archive, .transport = std::string(transport), .path = std::string(rest)};
  }
  if (is_one_of(registries, transport) || is_one_of(stores, transport)) {
    return parse_reference(text, transport, rest);
  }
  return bad_image(text, fmt::format("{}:// is not known", printable(transport)),
                   fmt::format("known are {}, {}, {}", fmt::join(registries, ", "),
                               fmt::join(stores, ", "), fmt::join(archives, ", ")));
}

bool names_path(std::string_view text) {
  const auto image = parse_image(text);
  return image && image->is_path() && image->transport.empty();
}

std::string registry_reference(const Image& image) {
  std::string registry = image.registry;
  std::string name = image.name;
  if (image.transport == "docker") {
    if (registry.empty()) registry = "docker.io";
    if (registry == "docker.io" && !name.contains('/')) name = "library/" + name;
  }
  return fmt::format("{}{}{}{}{}{}{}", registry, registry.empty() ? "" : "/", name,
                     image.tag.empty() ? "" : ":", image.tag, image.digest.empty() ? "" : "@",
                     image.digest);
}

std::string_view kind_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::reference:
      return "reference";
    case ImageKind::sif:
      return "SIF file";
    case ImageKind::squashfs:
      return "squashfs file";
    case ImageKind::archive:
      return "archive";
    case ImageKind::folder:
      return "folder";
  }
  return {};
}

}  // namespace toprun::container
