#include "node/agent/publish/job_socket.h"

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/console.h"
#include "base/os/timer.h"
#include "base/text/clock.h"
#include "engines/slurm/variables.h"
#include "node/agent/publish/report_file.h"
#include "observe/live/folder.h"
#include "observe/snapshot/metrics.h"

namespace toprun::publish {
namespace asio = boost::asio;
using nlohmann::json;

namespace {

const live::Answer busy{503, R"({"error": "the job did not answer in time"})"};

asio::awaitable<live::Answer> nothing_there() {
  co_return live::Answer{404, R"({"error": "there is no such page"})"};
}

asio::awaitable<std::optional<std::string>> next_line(std::shared_ptr<Follower> follower) {
  while (!follower->is_over()) {
    const auto parts = co_await follower->next();
    if (parts) co_return snapshot::picture_text(parts->job, parts->nodes, parts->figures) + '\n';
  }
  co_return std::nullopt;
}

}  // namespace

JobSocket::JobSocket(Pool& pool, const plan::Job& job, const run::Coordinator& coordinator,
                     JobPicture& picture, std::function<void(int question)> ask_places)
    : self_(std::make_shared<JobSocket*>(this)),
      pool_(pool),
      job_(job),
      coordinator_(coordinator),
      picture_(picture),
      ask_places_(std::move(ask_places)) {}

void JobSocket::open() {
  if (const auto listens = listen(); !listens) say(listens.error().line());
}

Result<void> JobSocket::listen() {
  const auto folder = TRY(live::socket_folder(job_.environment));
  auto server = TRY(live::Server::listen(
      pool_.io(), folder, [this](live::Question question) { return answer(std::move(question)); }));
  server_ = std::move(server);
  return {};
}

JobSocket::~JobSocket() {
  *self_ = nullptr;
}

void JobSocket::tell(const std::vector<int>& questions, const model::Places& places) {
  for (const int question : questions) {
    if (const auto asked = questions_.extract(question)) asked.mapped()(places);
  }
}

asio::awaitable<live::Answer> JobSocket::answer(live::Question question) {
  if (question.target == "/job") return name();
  if (question.target == "/report") return report();
  if (question.target == "/stacks") return places();
  if (question.target == "/picture") return picture();
  if (question.target == "/pictures") return pictures();
  if (question.target == "/metrics") return metrics(snapshot::metrics_form(question.accept));
  return nothing_there();
}

asio::awaitable<live::Answer> JobSocket::name() {
  const auto slurm = engines::slurm::own_job_id(job_.environment);
  const json names = {{"job", job_.name},
                      {"id", slurm.value_or(job_.place.job_id)},
                      {"number", job_.environment.get("SLURM_JOB_ID").value_or("")},
                      {"program", job_.options.script},
                      {"started", rfc3339(coordinator_.course().started)}};
  co_return live::Answer{200, json_text(names)};
}

// Its text is written on the pool: of many ranks it is megabytes.
asio::awaitable<live::Answer> JobSocket::report() {
  model::RunRecord record = record_of(job_, coordinator_.course());
  record.running_at = std::chrono::system_clock::now();
  std::function<live::Answer()> write = [record = std::move(record)] {
    return live::Answer{200, json_text(model::report_json(record))};
  };
  const auto written = co_await pool_.answer<live::Answer>(std::move(write), live::answer_limit);
  co_return written.value_or(busy);
}

asio::awaitable<live::Answer> JobSocket::picture() {
  auto text = co_await picture_.picture();
  co_return text ? live::Answer{200, *std::move(text)} : busy;
}

asio::awaitable<live::Answer> JobSocket::pictures() {
  const auto follower = std::make_shared<Follower>(pool_.io(), picture_);
  live::Answer answer{200, "", "application/x-ndjson"};
  answer.more = [follower] { return next_line(follower); };
  co_return answer;
}

asio::awaitable<live::Answer> JobSocket::metrics(snapshot::MetricsForm form) {
  auto text = co_await picture_.metrics(form);
  co_return text ? live::Answer{200, *std::move(text), snapshot::type_of(form)} : busy;
}

asio::awaitable<live::Answer> JobSocket::places() {
  const auto self = self_;
  const auto places = std::make_shared<std::optional<model::Places>>();
  const auto came = std::make_shared<Timer>(pool_.io(), live::answer_limit);
  const int question = last_question_++;
  questions_[question] = [places, came](const model::Places& answer) {
    *places = answer;
    came->expires_at(SteadyTime::min());
  };
  ask_places_(question);
  co_await came->async_wait(use_nothrow_awaitable);
  if (*self == nullptr) co_return busy;
  questions_.erase(question);
  if (!*places) co_return busy;
  std::function<live::Answer()> write = [places] {
    return live::Answer{200, json_text(model::places_json(**places))};
  };
  const auto written = co_await pool_.answer<live::Answer>(std::move(write), live::answer_limit);
  co_return written.value_or(busy);
}

}  // namespace toprun::publish
