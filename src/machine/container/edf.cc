#include "machine/container/edf.h"

#include <algorithm>

#include "base/json/toml.h"
#include "base/text/text.h"
#include "machine/container/container.h"
#include "machine/container/environment.h"
#include "machine/container/image.h"

namespace toprun::container {
namespace {

class Reader {
 public:
  Reader(std::string_view label, const Environment& environment)
      : label_(label), environment_(environment) {}

  Result<Edf> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      TRY(take(key, node));
    }
    return std::move(edf_);
  }

  std::string at(const toml::source_region& region) const {
    return fmt::format("{}:{}:{}", label_, region.begin.line, region.begin.column);
  }

 private:
  Result<void> take(const toml::key& key, const toml::node& node) {
    const std::string_view name = key.str();
    if (name == "base_environment") return take_bases(node);
    if (name == "image") return take_image(node);
    if (name == "workdir") return take_workdir(node);
    if (name == "entrypoint") return take_truth(edf_.entrypoint, name, node);
    if (name == "writable") return take_truth(edf_.writable, name, node);
    if (name == "mounts") return take_mounts(node);
    if (name == "env") return take_env(node);
    if (name == "annotations") return take_annotations(node, "");
    const std::vector<std::string> known{"base_environment", "image",  "workdir", "entrypoint",
                                         "writable",         "mounts", "env",     "annotations"};
    const auto near = did_you_mean(name, known);
    return usage(at(key.source()), fmt::format("unknown key {}", printable(name)),
                 near ? fmt::format("did you mean {}?", *near)
                      : fmt::format("keys are {}", fmt::join(known, ", ")));
  }

  std::unexpected<Error> refuse(const toml::node& node, std::string_view name,
                                std::string_view form) const {
    return usage(at(node.source()), fmt::format("{} must be {}", name, form));
  }

  Result<std::string> text_of(const toml::node& node, std::string_view name,
                              std::string_view form = "a text in quotes") const {
    const auto* text = node.as_string();
    if (text == nullptr) return refuse(node, name, form);
    if (text->get().contains('\0')) return refuse(node, name, "without zero bytes");
    return text->get();
  }

  Result<std::string> expanded(const toml::node& node, std::string_view name) const {
    const auto text = TRY(text_of(node, name));
    auto whole =
        expand(text, [this](std::string_view variable) { return environment_.get(variable); });
    if (!whole) return usage(at(node.source()), whole.error().line());
    return whole;
  }

  Result<void> take_bases(const toml::node& node) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return add_base(node);
    for (const toml::node& item : *array) {
      if (auto added = add_base(item); !added) return added;
    }
    return {};
  }

  Result<void> add_base(const toml::node& node) {
    auto text = TRY(expanded(node, "base_environment"));
    if (text.empty()) return refuse(node, "base_environment", "a name or a path");
    edf_.bases.push_back(std::move(text));
    return {};
  }

  Result<void> take_image(const toml::node& node) {
    auto text = TRY(expanded(node, "image"));
    const auto image = parse_image(text);
    if (!image) return usage(at(node.source()), image.error().line());
    const bool is_of_a_hub = !image->is_path() && image->transport.empty();
    edf_.image = is_of_a_hub ? "docker://" + text : text;
    return {};
  }

  Result<void> take_workdir(const toml::node& node) {
    auto text = TRY(expanded(node, "workdir"));
    if (!text.starts_with('/')) return refuse(node, "workdir", "an absolute path");
    edf_.workdir = std::move(text);
    return {};
  }

  Result<void> take_truth(std::optional<bool>& target, std::string_view name,
                          const toml::node& node) {
    const auto* truth = node.as_boolean();
    if (truth == nullptr) return refuse(node, name, "true or false");
    target = truth->get();
    if (name == "entrypoint" && truth->get()) {
      edf_.notes.push_back(at(node.source()) +
                           ": entrypoint has no effect, because toprun starts its own program");
    }
    return {};
  }

  Result<void> take_mounts(const toml::node& node) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return refuse(node, "mounts", "an array of \"SOURCE:DESTINATION\"");
    for (const toml::node& item : *array) {
      if (auto added = add_mount(item); !added) return added;
    }
    return {};
  }

  // Flags are joined by "+"; of them only ro and rw are every runtime's.
  Result<void> add_mount(const toml::node& node) {
    const auto text = TRY(expanded(node, "mounts"));
    const auto parts = split(text, ':');
    if (parts.size() < 2 || parts.size() > 3) {
      return refuse(node, "mounts", "SOURCE:DESTINATION[:FLAGS]");
    }
    auto bind = parse_bind(fmt::format("{}:{}", parts[0], parts[1]));
    if (!bind) return usage(at(node.source()), bind.error()->why);
    for (const std::string_view flag : split(parts.size() > 2 ? parts[2] : "", '+')) {
      if (flag == "ro") bind->read_only = true;
      if (flag.empty() || flag == "ro" || flag == "rw") continue;
      edf_.notes.push_back(
          fmt::format("{}: mount flag {} has no effect", at(node.source()), printable(flag)));
    }
    edf_.mounts.push_back(*std::move(bind));
    return {};
  }

  Result<void> take_env(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return refuse(node, "env", "a table of texts");
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      auto text = TRY(text_of(value, "env." + name));
      if (name.empty() || name.contains('=') || !is_printable(name)) {
        return refuse(value, printable(name), "the name of a variable");
      }
      const auto any = [](std::string_view) { return std::optional<std::string>(""); };
      if (const auto form = expand(text, any); !form) {
        return usage(at(value.source()), form.error().line());
      }
      edf_.env.emplace_back(name, std::move(text));
    }
    return {};
  }

  // Nested tables are one name with dots.
  Result<void> take_annotations(const toml::node& node, const std::string& prefix) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return refuse(node, "annotations", "a table of texts");
    for (const auto& [key, value] : *table) {
      const std::string name = prefix + std::string(key.str());
      if (value.is_table()) {
        if (auto taken = take_annotations(value, name + "."); !taken) return taken;
        continue;
      }
      const auto text = TRY(expanded(value, name));
      edf_.annotations.emplace_back(name, text);
    }
    return {};
  }

  std::string label_;
  const Environment& environment_;
  Edf edf_;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

void put(Pairs& pairs, const Pairs& more) {
  for (const auto& pair : more) {
    std::erase_if(pairs, [&](const auto& earlier) { return earlier.first == pair.first; });
    pairs.push_back(pair);
  }
}

void put_over(Edf& whole, Edf later) {
  if (later.image) whole.image = std::move(later.image);
  if (later.workdir) whole.workdir = std::move(later.workdir);
  if (later.entrypoint) whole.entrypoint = later.entrypoint;
  if (later.writable) whole.writable = later.writable;
  std::ranges::move(later.mounts, std::back_inserter(whole.mounts));
  std::ranges::move(later.notes, std::back_inserter(whole.notes));
  put(whole.env, later.env);
  put(whole.annotations, later.annotations);
}

// Reads a file and the files from which it inherits, each as often as it is named.
class Chain {
 public:
  Chain(const Environment& environment, const ReadText& read)
      : environment_(environment), read_(read) {}

  Result<Edf> whole(const std::string& name) {
    auto path = TRY(find(name));
    if (std::ranges::find(open_, path.first) != open_.end()) {
      return usage(path.first, "this file inherits from itself",
                   "remove this file from base_environment");
    }
    if (open_.size() > max_edf_levels || ++files_ > max_edf_files) {
      return usage(path.first,
                   fmt::format("base_environment has more than {} levels or more than {} files",
                               max_edf_levels, max_edf_files));
    }
    auto edf = TRY(parse_edf(path.second, path.first, environment_));
    open_.push_back(path.first);
    Edf all;
    for (const std::string& base : edf.bases) put_over(all, TRY(whole(base)));
    open_.pop_back();
    put_over(all, std::move(edf));
    return all;
  }

 private:
  using Found = std::pair<std::string, std::string>;  // path, text

  Result<Found> find(const std::string& name) const {
    if (name.contains('/') || name.ends_with(".toml")) {
      auto text = read_(name);
      if (!text) return usage("--environment " + printable(name), text.error()->why);
      return Found{name, *std::move(text)};
    }
    for (const std::string& folder : folders()) {
      const std::string path = fmt::format("{}/{}.toml", folder, name);
      if (auto text = read_(path)) return Found{path, *std::move(text)};
    }
    return usage(fmt::format("--environment {}", printable(name)),
                 fmt::format("there is no {}.toml in {}", printable(name),
                             folders().empty() ? "EDF_PATH" : join(folders(), ", ")),
                 "write the file's path with a '/', or set EDF_PATH");
  }

  std::vector<std::string> folders() const {
    std::vector<std::string> folders;
    if (const auto set = environment_.non_empty("EDF_PATH")) {
      for (const std::string_view folder : split(*set, ':')) {
        if (!folder.empty()) folders.emplace_back(folder);
      }
      return folders;
    }
    if (const auto home = environment_.non_empty("HOME")) folders.push_back(*home + "/.edf");
    return folders;
  }

  const Environment& environment_;
  const ReadText& read_;
  std::vector<std::string> open_;
  std::size_t files_ = 0;
};

}  // namespace

Result<Edf> parse_edf(std::string_view text, std::string_view label,
                      const Environment& environment) {
  try {
    return Reader(label, environment).read(parse_toml(text, label));
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    return usage(fmt::format("{}:{}:{}", label, begin.line, begin.column),
                 toml_fault(error.description()), "see https://toml.io");
  }
}

Result<std::vector<std::string>> apply_edf(Request& request, const Environment& environment,
                                           const ReadText& read) {
  auto edf = TRY(Chain(environment, read).whole(request.environment));
  if (request.image.empty() && !edf.image) {
    return usage("--environment " + printable(request.environment),
                 "the file does not name an image",
                 "write image = \"...\" into the file, or use --container");
  }
  if (request.image.empty()) request.image = *edf.image;
  if (request.workdir.empty()) request.workdir = edf.workdir.value_or("");
  request.writable = request.writable || edf.writable.value_or(true);
  request.binds.insert(request.binds.begin(), edf.mounts.begin(), edf.mounts.end());
  put(request.variables, edf.env);
  put(request.annotations, edf.annotations);
  return std::move(edf.notes);
}

}  // namespace toprun::container
