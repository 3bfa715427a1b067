#include "cli/pods/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engines/kubernetes/object_name.h"

namespace toprun::pods {
namespace {

namespace kubernetes = engines::kubernetes;
using kubernetes::Placer;
using options::Argument;

struct PlacerWord {
  std::string_view word;
  Placer placer;
};
constexpr std::array placers = {
    PlacerWord{"kueue", Placer::kueue},
    PlacerWord{"volcano", Placer::volcano},
    PlacerWord{"kai", Placer::kai},
    PlacerWord{"runai", Placer::runai},
};

constexpr std::array<std::string_view, 3> effects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

Result<Placer> placer_of(const OptionReader& reader) {
  const auto argument = reader.one("--scheduler");
  if (!argument) return reader.has("--queue") ? Placer::kueue : Placer::cluster;
  std::array<std::string_view, placers.size()> words;
  std::ranges::transform(placers, words.begin(), &PlacerWord::word);
  const auto word = TRY(options::parse_choice(*argument, words));
  return std::ranges::find(placers, word, &PlacerWord::word)->placer;
}

Result<void> set_name(std::string& out, const OptionReader& reader, std::string_view option) {
  const auto argument = reader.one(option);
  if (!argument) return {};
  if (!kubernetes::is_object_name(argument->value) ||
      !kubernetes::is_label_value(argument->value)) {
    return usage(
        argument->label(), "is not a name in Kubernetes",
        "write the name as the cluster lists it: at most 63 characters of a-z, 0-9, - and .");
  }
  out = argument->value;
  return {};
}

Result<std::string> parse_label_key(const Argument& argument) {
  if (kubernetes::is_label_key(argument.value)) return argument.value;
  return usage(argument.label(), "is not the key of a label",
               "write the key as kubectl get nodes --show-labels prints it, as in "
               "topology.kubernetes.io/zone");
}

Result<void> set_together(kubernetes::Placement& out, const OptionReader& reader) {
  const auto required = reader.one("--required-topology-key");
  const auto preferred = reader.one("--preferred-topology-key");
  if (required && preferred) {
    return usage(required->label() + " and " + preferred->label(),
                 "the first option requires what the second option only prefers",
                 "give only one of them");
  }
  const auto& argument = required ? required : preferred;
  if (!argument) return {};
  const auto key = TRY(parse_label_key(*argument));
  out.together = kubernetes::Together{key, required.has_value()};
  return {};
}

Result<void> set_nodes_allowed(kubernetes::Placement& out, const OptionReader& reader) {
  for (const Argument& argument : reader.all("--node-pool")) {
    if (!kubernetes::is_label_value(argument.value) || argument.value.empty()) {
      return usage(argument.label(), "is not the name of a node pool",
                   argument.value.contains(',')
                       ? "repeat the option for each pool: --node-pool A --node-pool B"
                       : "write the name as the cluster lists it");
    }
    out.pools.push_back(argument.value);
  }
  const auto selectors = reader.all("--node-selector");
  auto labels = TRY(pairs_of(selectors, "a label has one value"));
  for (const auto& label : labels) {
    if (kubernetes::is_label_key(label.first) && kubernetes::is_label_value(label.second)) continue;
    return usage(label_of(selectors, label), "is not a label of a node",
                 "write the label as kubectl get nodes --show-labels prints it");
  }
  out.selector = std::move(labels);
  for (const Argument& argument : reader.all("--toleration")) {
    auto toleration = TRY(parse_toleration(argument));
    out.tolerations.push_back(std::move(toleration));
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_pair(const Argument& argument) {
  const std::size_t equals = argument.value.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return usage(argument.label(), "is not KEY=VALUE", "write a key and a value, as in key=value");
  }
  return std::pair{argument.value.substr(0, equals), argument.value.substr(equals + 1)};
}

Result<Pairs> pairs_of(std::span<const Argument> all, std::string_view rule) {
  Pairs out;
  for (const Argument& argument : all) {
    auto pair = TRY(parse_pair(argument));
    const auto same = std::ranges::find(out, pair.first, &Pairs::value_type::first);
    if (same == out.end()) {
      out.push_back(std::move(pair));
      continue;
    }
    if (same->second == pair.second) continue;
    return usage(fmt::format("{} and {}", label_of(all, *same), argument.label()),
                 std::string(rule), "give only one of them");
  }
  return out;
}

std::string label_of(std::span<const Argument> all, const Pairs::value_type& pair) {
  const std::string text = fmt::format("{}={}", pair.first, pair.second);
  return std::ranges::find(all, text, &Argument::value)->label();
}

Result<kubernetes::Toleration> parse_toleration(const Argument& argument) {
  kubernetes::Toleration out;
  std::string_view rest = argument.value;
  if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    out.effect = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (std::ranges::find(effects, out.effect) == effects.end()) {
      return usage(argument.label(), "has an effect that Kubernetes does not know",
                   "end the toleration with :NoSchedule, :PreferNoSchedule or :NoExecute, or leave "
                   "the effect out");
    }
  }
  out.key = rest.substr(0, rest.find('='));
  if (out.key.size() < rest.size()) out.value = std::string(rest.substr(out.key.size() + 1));
  if (!kubernetes::is_label_key(out.key) || !kubernetes::is_label_value(out.value.value_or(""))) {
    return usage(argument.label(), "is not a taint",
                 "write the taint as kubectl describe node prints it, as in "
                 "nvidia.com/gpu=present:NoSchedule");
  }
  return out;
}

Result<kubernetes::Placement> placement_of(const OptionReader& reader) {
  kubernetes::Placement out;
  out.placer = TRY(placer_of(reader));
  TRY(set_name(out.queue, reader, "--queue"));
  TRY(set_name(out.priority_class, reader, "--priority-class"));
  TRY(set_nodes_allowed(out, reader));
  TRY(set_together(out, reader));
  return out;
}

}  // namespace toprun::pods
