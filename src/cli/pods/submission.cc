#include "cli/pods/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/text/secrets.h"
#include "base/text/text.h"
#include "cli/jobs/follow.h"
#include "cli/pods/running.h"
#include "cli/pods/secrets.h"
#include "engines/kubernetes/admission.h"
#include "engines/kubernetes/kubectl.h"
#include "engines/kubernetes/manifest.h"
#include "engines/kubernetes/operators.h"
#include "engines/kubernetes/patch.h"
#include "engines/kubernetes/pod_template.h"
#include "engines/kubernetes/yaml.h"
#include "engines/queue.h"
#include "node/plan/packed_words.h"

namespace toprun::pods {
namespace {

namespace kubernetes = engines::kubernetes;
using kubernetes::Operator;

constexpr int indent = 2;
// etcd takes requests of 1.5 MiB (--max-request-bytes); the API server's own fields need
// some.
constexpr std::size_t most_object_bytes = 1'500'000;
constexpr std::size_t longest_word = 128 * 1024 - 1;  // Linux: MAX_ARG_STRLEN, its end among them

int reported(const Result<int>& code) {
  return code ? *code : give_up(code.error());
}

using Notes = std::vector<std::string>;  // said once it is clear that there is no error

// Those that may be taken, the preferred one first.
Result<std::vector<Operator>> operators_for(const PodOptions& options, Notes& notes,
                                            const Environment& environment,
                                            std::chrono::milliseconds limit) {
  if (options.which) return std::vector{*options.which};
  if (options.dry_run != DryRun::client) return kubernetes::find_operators(environment, limit);
  constexpr Operator assumed = Operator::pytorchjob;
  notes.push_back(fmt::format(
      "no cluster was contacted, so the job is assumed to be a {}; --operator chooses another kind",
      kubernetes::kind_of(assumed)));
  return std::vector{assumed};
}

// The cluster completes the name, so the job's pods need another word to know each other by.
std::string fresh_mark(const std::string& name) {
  std::random_device random;
  return fmt::format("{}-{:08x}", name, random());
}

// For people, with what they may have to do before.
std::string printed(const PodOptions& options, const nlohmann::ordered_json& object) {
  if (options.as_json) return json_text(object, indent) + '\n';
  std::string out;
  for (const std::string& line : kubernetes::node_access(options.job)) out += "# " + line + '\n';
  if (!options.secrets.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : options.secrets) names.push_back(name);
    out += fmt::format(
        "# `toprun submit` also creates a Secret with {}, which is deleted with the job; kubectl "
        "create with this text alone does not create it.\n",
        join(names, ", "));
  }
  return out + kubernetes::yaml(object);
}

// A TrainJob holds few words.
Result<void> fit_words(Operator which, kubernetes::Workload& job) {
  const bool fits = job.command.size() <= kubernetes::most_words_of_a_trainjob;
  if (which != Operator::trainjob || fits) return {};
  job.command = TRY(plan::pack_words(job.command));
  return {};
}

// Training operators before 1.7 have no field for the number of ranks.
void say_workers_in_words(kubernetes::Workload& job, bool sleeps) {
  if (job.workers && !sleeps) {
    job.command.insert(job.command.begin() + 1, fmt::format("--nproc-per-node={}", *job.workers));
  }
  job.workers.reset();
}

kubernetes::PodChanges changes_for(const kubernetes::Schema& schema) {
  using kubernetes::PodChanges;
  if (schema.has("spec.runtimePatches")) return PodChanges::runtime_patches;
  const bool has_templates = schema.has("spec.podTemplateOverrides");
  return has_templates ? PodChanges::template_overrides : PodChanges::spec_overrides;
}

Result<void> check_size(const nlohmann::ordered_json& object, const kubernetes::Workload& job) {
  for (const std::string& word : job.command) {
    if (word.size() <= longest_word) continue;
    return usage(fmt::format("an argument is {} bytes long", word.size()),
                 fmt::format("Linux accepts at most {} bytes in an argument", longest_word),
                 "pass the argument in a file");
  }
  const std::size_t bytes = json_text(object).size();
  if (bytes <= most_object_bytes) return {};
  return usage(fmt::format("the job's object is {} bytes long", bytes),
               fmt::format("the cluster stores at most {} bytes", most_object_bytes),
               "pass the script's arguments in a file");
}

// The object for this operator. `unknown` is set where the cluster's version lacks one of its
// fields.
Result<nlohmann::ordered_json> object_for(Operator which, const kubernetes::Schema& schema,
                                          const PodOptions& options, kubernetes::Workload job,
                                          std::optional<std::string>& unknown, Notes& notes) {
  TRY(kubernetes::check(which, job));
  const bool counts = which != Operator::pytorchjob || schema.has("spec.nprocPerNode");
  if (!counts) say_workers_in_words(job, options.interactive);
  TRY(fit_words(which, job));
  auto object = kubernetes::manifest(which, job, changes_for(schema));
  if (!options.patch.empty()) {
    const auto text = read_file(options.patch, kubernetes::most_yaml_bytes);
    if (!text) return usage("--patch " + options.patch, text.error()->why, "check the path");
    const auto patch = TRY(kubernetes::parse_yaml_value(*text, options.patch));
    if (!schema.is_known()) {
      for (const std::string& doubt : kubernetes::doubtful_fields(object, patch)) {
        notes.push_back(fmt::format("warning: {}: {}", options.patch, doubt));
      }
    }
    TRY(kubernetes::apply_patch(object, patch, options.patch));
  }
  TRY(check_object(object));
  TRY(check_size(object, job));
  unknown = schema.unknown_field(object);
  return object;
}

// What asked for a field that older releases do not have.
std::string option_for(std::string_view field) {
  struct Row {
    std::string_view part, option;
  };
  constexpr std::array rows = {Row{"activeDeadlineSeconds", "--time"},
                               Row{"imagePullSecrets", "--image-pull-secret"},
                               Row{"securityContext", "--ipc-lock, --restricted or --run-as"},
                               Row{"affinity", "a topology key or a node pool"},
                               Row{"metadata", "--annotation, --queue or a topology key"},
                               Row{"image", "--toprun-image"}};
  const auto row =
      std::ranges::find_if(rows, [&](const Row& one) { return field.contains(one.part); });
  return row == rows.end() ? std::string() : fmt::format(", which {} needs", row->option);
}

struct Chosen {
  Operator which;
  nlohmann::ordered_json object;
};

void look_at_the_namespace(kubernetes::Workload& job, Notes& notes, const Environment& environment,
                           std::chrono::milliseconds limit) {
  if (job.restricted || !kubernetes::asks_for_restricted(job.space, environment, limit)) return;
  job.restricted = true;
  notes.emplace_back(
      "this namespace accepts only restricted pods, so the job's pods are restricted (not root, no "
      "capabilities); if the image's user is root, --run-as UID sets another user");
}

// The training operator gives Workers beside a Master an init container of its own, which is
// restricted only where its administrator has changed the template (training-operator,
// pkg/controller.v1/pytorch/initcontainer.go).
void prefer_restricted(std::vector<Operator>& operators, const kubernetes::Workload& job,
                       Notes& notes) {
  const auto found = std::ranges::find(operators, Operator::pytorchjob);
  const bool has_workers = job.nodes > 1 && !job.least_nodes;
  if (!job.restricted || !has_workers || found == operators.end()) return;
  if (operators.size() > 1) {
    operators.erase(found);
    notes.emplace_back(
        "a PyTorchJob is not possible with restricted pods: its operator adds an init container "
        "that the restricted Pod Security level forbids");
  } else {
    notes.emplace_back(
        "perhaps the cluster refuses the workers' pods: the training operator adds an init "
        "container to them, and in a namespace of the Pod Security level `restricted` each "
        "container needs a security context. Use --operator jobset, or set the init container's "
        "security context in the file of the operator's --pytorch-init-container-template-file");
  }
}

Result<void> check_namesake(Operator which, const kubernetes::Workload& job,
                            const Environment& environment, std::chrono::milliseconds limit) {
  if (job.name_is_beginning) return {};
  const auto other = kubernetes::namesake(which, job.name, job.space, environment, limit);
  if (!other) return {};
  return usage("--job-name " + job.name,
               fmt::format("a {} has this name, and toprun finds jobs by their names", *other),
               "choose another name, or end that job with toprun cancel");
}

// The first operator whose version has all fields that the job needs.
Result<Chosen> choose_object(const std::vector<Operator>& operators, const PodOptions& options,
                             const kubernetes::Workload& job, Notes& notes,
                             const Environment& environment, std::chrono::milliseconds limit) {
  std::string missing;
  for (const Operator which : operators) {
    const bool asks = options.dry_run != DryRun::client;
    const auto schema =
        asks ? kubernetes::ask_schema(which, environment, limit) : kubernetes::Schema();
    std::optional<std::string> unknown;
    auto object = TRY(object_for(which, schema, options, job, unknown, notes));
    if (!unknown) {
      if (!missing.empty())
        notes.push_back(fmt::format("the job is a {}: {}", kubernetes::kind_of(which), missing));
      return Chosen{which, std::move(object)};
    }
    if (!missing.empty()) continue;
    missing = fmt::format("the cluster's version of {} has no field {}{}",
                          kubernetes::kind_of(which), *unknown, option_for(*unknown));
  }
  const std::string which = options.which ? lower(kubernetes::kind_of(*options.which)) : "auto";
  return fail("--operator " + which, missing,
              "leave out what this operator does not support, or choose another --operator");
}

// The job's own Secret, which Kubernetes takes away with the job. The job is made first: a Secret
// that was there before it would stay where the job is refused.
Result<void> create_secret(const PodOptions& options, const kubernetes::Workload& job,
                           const kubernetes::Owner* owner, const Environment& environment,
                           std::chrono::milliseconds limit) {
  if (options.secrets.empty()) return {};
  const std::string text = json_text(kubernetes::secret_object(job, options.secrets, owner));
  const auto made = kubernetes::create(text, owner == nullptr, environment, limit);
  if (made) return {};
  std::string after;
  if (owner != nullptr) {
    const auto taken = kubernetes::remove(*owner, job.space, environment, limit);
    after = taken
                ? "; the job is deleted again"
                : "; the job waits for this Secret: end the job with toprun cancel " + owner->name;
  }
  return fail("--secret-env", made.error()->why + after,
              "ask an administrator to create the Secret, and use --secret-env NAME=SECRET:KEY");
}

int after_creation(const PodOptions& options, Operator which, const std::string& id,
                   const Environment& environment) {
  const int shown = options.follow ? 0 : print(id + '\n');
  say(next_words(options, id));
  Environment there = environment;
  if (!options.job.space.empty()) there.set("TOPRUN_NAMESPACE", options.job.space);
  const std::string record = kubernetes::record_of(which, id);
  if (options.follow) return reported(follow_pods(id, record, there));
  return options.wait ? jobs::wait_for_job(id, there, {}, record) : shown;
}

int try_out(const PodOptions& options, const kubernetes::Workload& job,
            const nlohmann::ordered_json& object, const Environment& environment,
            std::chrono::milliseconds limit) {
  const auto made = kubernetes::create(json_text(object), true, environment, limit);
  if (!made) return give_up(made.error());
  const auto secret = create_secret(options, job, nullptr, environment, limit);
  if (!secret) return give_up(secret.error());
  say("Kubernetes would accept this job");
  return print_bytes(printed(options, object));
}

int create(const PodOptions& options, const kubernetes::Workload& job, const Chosen& chosen,
           const Environment& environment, std::chrono::milliseconds limit) {
  if (options.secrets.empty()) {
    const auto made = kubernetes::create(json_text(chosen.object), false, environment, limit);
    if (!made) return give_up(made.error());
    return after_creation(options, chosen.which, std::string(kubernetes::name_in(*made)),
                          environment);
  }
  const auto owner = kubernetes::create_owner(json_text(chosen.object), environment, limit);
  if (!owner) return give_up(owner.error());
  const auto secret = create_secret(options, job, &*owner, environment, limit);
  if (!secret) return give_up(secret.error());
  return after_creation(options, chosen.which, owner->name, environment);
}

}  // namespace

std::string next_words(const PodOptions& options, std::string_view id) {
  if (!options.interactive) {
    return fmt::format("job {0}: toprun status {0}, toprun logs -f {0}, toprun cancel {0}", id);
  }
  return fmt::format(
      "job {0}, whose pods sleep until toprun cancel {0}: toprun run --in {0} SCRIPT, "
      "toprun shell --attach {0}, toprun status {0}",
      id);
}

int submit_pods(const PodOptions& options, const Environment& environment) {
  Notes notes = options.notes;
  const auto limit = engines::engine_timeout_of(environment);
  if (!limit) return give_up(limit.error());
  auto operators = operators_for(options, notes, environment, *limit);
  if (!operators) return give_up(operators.error());
  kubernetes::Workload job = options.job;
  if (const auto word = word_with_secret(job.command)) {
    return give_up({*word, "everyone who may read the job's object would read the secret",
                    "use --secret-env NAME and have the program read that variable", exit_usage});
  }
  if (kubernetes::needs_mark(job.placement) && job.name_is_beginning) {
    job.mark = fresh_mark(job.name);
  }
  if (!options.secrets.empty()) job.own_secret = fresh_secret_name();
  if (options.dry_run != DryRun::client) look_at_the_namespace(job, notes, environment, *limit);
  prefer_restricted(*operators, job, notes);
  const auto chosen = choose_object(*operators, options, job, notes, environment, *limit);
  if (!chosen) return give_up(chosen.error());
  if (options.dry_run == DryRun::no) {
    const auto fine = check_namesake(chosen->which, job, environment, *limit);
    if (!fine) return give_up(fine.error());
  }
  for (const std::string& note : notes) say(note);
  if (options.dry_run == DryRun::client) return print_bytes(printed(options, chosen->object));
  if (options.dry_run == DryRun::server) {
    return try_out(options, job, chosen->object, environment, *limit);
  }
  return create(options, job, *chosen, environment, *limit);
}

}  // namespace toprun::pods
