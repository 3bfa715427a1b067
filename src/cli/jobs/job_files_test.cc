#include "cli/jobs/job_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"
#include "cli/jobs/job_words.h"
#include "observe/snapshot/snapshot.h"
#include "observe/web/files.h"

namespace toprun::jobs {
namespace {

void write(const std::filesystem::path& path, const std::string& text = "x\n") {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Label and path below the folder, or the error.
std::string text_of(const Result<std::vector<LogFile>>& files, const std::string& below) {
  if (!files) return files.error().line().replace(0, 0, "error: ");
  std::string text;
  for (const LogFile& file : *files) {
    text += fmt::format("{}={} ", file.label, file.path.substr(below.size() + 1));
  }
  return text;
}

TEST(JobFiles, HostsInNaturalOrderThenTheEngines) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  const JobFiles files{{top + "/train.17.out", top + "/train.17.err"}, top + "/17"};
  EXPECT_EQ(text_of(log_files(files, {}), top), "");
  for (const char* name :
       {"train.17.out", "17/n10.out", "17/n2.out", "17/.out", "17/report.json"}) {
    write(folder.path() / name);
  }
  EXPECT_EQ(text_of(log_files(files, {}), top), "n2=17/n2.out n10=17/n10.out =train.17.out ");
  EXPECT_EQ(text_of(log_files(files, {{}, "n10"}), top), "n10=17/n10.out ");
  EXPECT_EQ(text_of(log_files(files, {{}, "n11"}), top),
            "error: --node n11: the job has no output from this node; choose one of: n2, n10");
}

TEST(JobFiles, TheTasksOfAnArrayThatRanElsewhereAreLeftOut) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/12_1/n1.out");
  write(top + "/12_2/n0.out");
  const std::vector<JobFiles> tasks = {
      {{}, top + "/12_0"}, {{}, top + "/12_1"}, {{}, top + "/12_2"}};
  const auto chosen = log_files(tasks, {{}, "n0"});
  ASSERT_TRUE(chosen && chosen->size() == 3);
  EXPECT_TRUE((*chosen)[0].empty() && (*chosen)[1].empty());
  EXPECT_EQ(text_of((*chosen)[2], top), "n0=12_2/n0.out ");
  EXPECT_FALSE(log_files(tasks, {{}, "n7"}));
}

TEST(JobFiles, TasksOfAnArrayThatTheEngineDoesNotKnow) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/12/job.sbatch");
  write(top + "/12/story.jsonl",
        R"({"act":"cancelled","tasks":"4-6","by":"a","at":"2026-11-30T10:00:00Z"})");
  for (const char* name : {"train.12_0.out", "12_0/n1.out", "12_2/n0.out", "slurm-12_10.out",
                           "120_1/n0.out", "12_3/notes.txt"}) {
    write(folder.path() / name);
  }
  const auto ids = [&](const std::vector<std::int64_t>& known) {
    std::vector<std::string> all;
    for (const FoundFiles& found : other_tasks(top, "12", known)) all.push_back(found.id);
    return join(all, " ");
  };
  EXPECT_EQ(ids({}), "12_0 12_2 12_10 12_[4-6]");
  EXPECT_EQ(ids({1, 2, 6}), "12_0 12_10 12_[4-5]");
  EXPECT_EQ(ids({0, 2, 4, 6, 10}), "12_5");
  EXPECT_EQ(other_tasks(top, "12", {0, 2, 4, 6, 10})[0].files.folder, top + "/12_5");
  EXPECT_EQ(ids({0, 2, 4, 5, 6, 10}), "");
  std::vector<std::string> some;
  for (const FoundFiles& found : search_files("12_[0-2,5]", {top})) some.push_back(found.id);
  EXPECT_EQ(join(some, " "), "12_0 12_2 12_5");
}

TEST(JobFiles, ARanksFilesAreFoundByTheReport) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  const JobFiles files{{}, top + "/17"};
  EXPECT_NE(text_of(log_files(files, {3, ""}), top).find("did not write one file per rank"),
            std::string::npos);
  const auto node = [&](const char* name, int first, const char* logs) {
    return fmt::format(R"({{"name":"{}","first_rank":{},"nproc":2,"logs":"{}/17/{}"}})", name,
                       first, top, logs);
  };
  // Between the attempts the two nodes changed places.
  write(files.report(), fmt::format(R"({{"schema":"toprun.report/1","attempts":[
                      {{"attempt":0,"nodes":[{},{}]}},{{"attempt":1,"nodes":[{},{}]}}]}})",
                                    node("a", 0, "run_a"), node("b", 2, "run_b"),
                                    node("b", 0, "run_b"), node("a", 2, "run_a")));
  write(top + "/17/run_b/attempt_0/1/stdout.log");
  write(top + "/17/run_a/attempt_1/1/stdout.log");
  write(top + "/17/run_a/attempt_1/1/stderr.log");
  write(top + "/17/run_a/attempt_0/1/stdout.log");
  EXPECT_EQ(text_of(log_files(files, {3, ""}), top),
            "=17/run_b/attempt_0/1/stdout.log =17/run_a/attempt_1/1/stdout.log "
            "=17/run_a/attempt_1/1/stderr.log ");
  EXPECT_EQ(text_of(log_files(files, {4, ""}), top), "error: --rank 4: the job has ranks 0 to 3");
}

TEST(JobFiles, ARankAloneOnItsNodeHasThatNodesFile) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  const JobFiles files{{}, top + "/17"};
  const auto report_with = [&](int ranks_of_b) {
    write(files.report(),
          fmt::format(R"({{"schema":"toprun.report/1","attempts":[{{"attempt":0,"nodes":[
                      {{"name":"a","first_rank":0,"nproc":1}},
                      {{"name":"b","first_rank":1,"nproc":{}}}]}}]}})",
                      ranks_of_b));
  };
  write(top + "/17/a.out");
  write(top + "/17/b.out");
  report_with(2);
  EXPECT_EQ(text_of(log_files(files, {0, ""}), top), "a=17/a.out ");
  EXPECT_NE(text_of(log_files(files, {1, ""}), top).find("did not write one file per rank"),
            std::string::npos);
  report_with(1);
  EXPECT_EQ(text_of(log_files(files, {1, ""}), top), "b=17/b.out ");
}

TEST(JobFiles, WhatIsNotAJobsPathSaysWhatItIs) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/copy5/job.sbatch", "#!/bin/bash\n# Written by toprun 0.1.0\n");
  write(top + "/llama/job.sbatch", "#!/bin/bash\nsrun toprun train.py\n");
  write(top + "/rep.json", R"({"schema":"toprun.report/1","attempts":[]})");
  write(top + "/other.json", "{}");
  const std::pair<const char*, const char*> cases[] = {
      {"/copy5", "it is a job's folder, but its name is not the job's id"},
      {"/llama", "it is a folder, and not the folder or the report of a job"},
      {"/rep.json", "it is the report of a run, but not in the folder of a submitted job"},
      {"/other.json", "it is a file, and not the folder or the report of a job"},
  };
  for (const auto& [path, why] : cases) EXPECT_EQ(job_id_in(top + path, {}).error()->why, why);
}

TEST(JobFiles, AJobIsFoundByThePathOfItsFolder) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/logs/17/n0.out");
  write(top + "/logs/17/report.json");
  write(top + "/logs/train.17.out");
  write(top + "/logs/170/n0.out");
  for (const char* path : {"/logs/17", "/logs/17/", "/logs/17/report.json", "/logs/17/n0.out",
                           "/logs/train.17.out", "/logs/170/../17/."}) {
    const auto found = files_at(top + path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(found->id, "17");
    EXPECT_EQ(text_of(log_files(found->files, {}), top), "n0=logs/17/n0.out =logs/train.17.out ");
  }
  for (const char* path : {"/logs", "/logs/18", "/logs/18.out", "/logs/17/gone.out"}) {
    EXPECT_FALSE(files_at(top + path)) << path;
  }
  write(top + "/slurm-19.out");
  ASSERT_TRUE(files_at(top + "/slurm-19.out"));
  EXPECT_EQ(files_at(top + "/slurm-19.out")->id, "19");
}

TEST(JobFiles, AFileInAJobsFolderIsOfThisJob) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/logs/17/job.sbatch");
  write(top + "/logs/17/10.0.0.5.out");
  write(top + "/2024/train.18.out");
  write(top + "/2024/hello.out");
  EXPECT_EQ(files_at(top + "/logs/17/10.0.0.5.out")->id, "17");
  EXPECT_EQ(files_at(top + "/2024/train.18.out")->id, "18");
}

TEST(JobFiles, AFolderWithANumberMayBeNoJobs) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/2024/slurm-4711.out");
  write(top + "/2024/train.18.out");
  EXPECT_FALSE(files_at(top + "/2024"));
  EXPECT_TRUE(has_evidence(*files_at(top + "/2024/slurm-4711.out")));
  write(top + "/2024/a.out");
  ASSERT_TRUE(files_at(top + "/2024"));
  EXPECT_FALSE(has_evidence(*files_at(top + "/2024")));
  write(top + "/2024/report.json", "{}");  // another program's
  EXPECT_FALSE(has_evidence(*files_at(top + "/2024")));
  write(top + "/2024/report.json", R"({"schema":"toprun.report/1","attempts":[]})");
  EXPECT_TRUE(has_evidence(*files_at(top + "/2024")));
  write(top + "/12_3/n0.out");
  EXPECT_FALSE(has_evidence(*files_at(top + "/12_3")));
  write(top + "/12/job.sbatch");  // the array's
  EXPECT_TRUE(has_evidence(*files_at(top + "/12_3")));
}

TEST(JobFiles, OneAgentsLayoutNeedsNoReport) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/17/none_x/attempt_0/1/stdout.log");
  write(top + "/17/none_x/attempt_1/1/stdout.log");
  EXPECT_EQ(text_of(log_files({{}, top + "/17"}, {1, ""}), top),
            "=17/none_x/attempt_0/1/stdout.log =17/none_x/attempt_1/1/stdout.log ");
}

TEST(JobFiles, AForgottenJobIsFoundByWhatItLeft) {
  const TemporaryFolder folder;
  const std::string top = folder.path();
  write(top + "/logs/train.17.out");
  write(top + "/logs/12/job.sbatch");  // the array's
  write(top + "/logs/20/job.sbatch");
  write(top + "/logs/12_3/n0.out");
  write(top + "/logs/12_10/report.json");
  write(top + "/logs/train.12_3.out");
  write(top + "/logs/train.112_3.out");
  write(top + "/slurm-19.out");
  write(top + "/18/notes.txt");  // a user's own folder
  for (const auto& [id, expected] : std::vector<std::pair<std::string, std::string>>{
           {"17", "17: /logs/17 /logs/train.17.out; "},
           {"12_3", "12_3: /logs/12_3 /logs/train.12_3.out; "},
           {"12", "12_3: /logs/12_3 /logs/train.12_3.out; 12_10: /logs/12_10; "},
           {"19", "19: /19 /slurm-19.out; "},
           {"20", "20: /logs/20; "},
           {"18", ""},
           {"7", ""},
       }) {
    std::string text;
    for (const FoundFiles& job : search_files(id, {top})) {
      text += fmt::format("{}: {}", job.id, job.files.folder.substr(top.size()));
      for (const std::string& own : job.files.own) text += " " + own.substr(top.size());
      text += "; ";
    }
    EXPECT_EQ(text, expected) << id;
  }
}

TEST(JobReport, HasTheWordsOfTheWebPage) {
  const std::string& text = web::find_file("/page.js")->text;
  for (const auto& [name, words] : snapshot::stages_by_name()) {
    EXPECT_TRUE(text.contains(fmt::format(" {}: '{}',", name, words))) << name;
  }
  for (const auto& [name, time, words] : model::phases_by_name()) {
    if (words.empty()) continue;
    EXPECT_TRUE(text.contains(fmt::format("['{}', '{}']", name, words))) << name;
  }
}

TEST(JobReport, TellsWhatARunIsAt) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"({"schema":"toprun.report/1","exit_code":null,"attempts":[{"phases_ms":{}}]})",
            "- waiting for nodes"},
           {R"({"schema":"toprun.report/1","exit_code":3,"attempts":[
               {"phases_ms":{"join":1,"order":2,"spawn":3,"last_connect":null},
                "cause":{"kind":"exit","what":"rank 1 on n1 ended with exit code 3","message":"E"}}]})",
            "3 running; rank 1 on n1 ended with exit code 3: E; nodes joined 1 ms, ordered 2 ms, "
            "ranks started 3 ms"},
           {R"({"schema":"toprun.report/1","exit_code":1,"attempts":[{"phases_ms":{"spawn":3},
                "cause":{"kind":"exit","what":"rank 1 failed","message":"E: a\nb"}}]})",
            "1 running; rank 1 failed: E: a; ranks started 3 ms"},
           {R"({"schema":"toprun.report/1","exit_code":null,"attempts":[
               {"phases_ms":{"spawn":3},
                "awaited":{"phase":"import","came":63,"of":64,"rank":17,"node":"n5"}}]})",
            "- running; ranks started 3 ms; 63 of 64 ranks have reached the store, not rank 17 on "
            "n5"},
           {R"({"schema":"toprun.report/1","exit_code":null,"attempts":[
               {"phases_ms":{"join":1,"order":2,"spawn":3,"first_connect":3000,"import":43000,
                             "last_connect":43000,"first_collective":44000},
                "slowest":{"join":null,"import":{"node":"n5","rank":17,"ms":41000,
                                                 "median_ms":3000,"counted":64}}}]})",
            "- running; nodes joined 1 ms, ordered 2 ms, ranks started 3 ms, "
            "first at the store 3.0 s, all at the store 43.0 s, first collective 44.0 s; rank 17 "
            "on "
            "n5 took 41.0 s to import (median 3.0 s)"},
           {R"({"schema":"toprun.report/1","exit_code":1,"attempts":[
               {"cause":{"kind":"node_lost","what":"node n1 was lost","message":""}}]})",
            "1 waiting for nodes; node n1 was lost"},
           {R"({"schema":"toprun.report/1","exit_code":1,"attempts":[
               {"cause":{"kind":"node_lost","what":"node n2 was lost","node":"n2",
                         "message":"no word from it for 10 s"}}]})",
            "1 waiting for nodes; node n2 was lost: no word from it for 10 s"},
           {R"({"schema":"toprun.report/1","exit_code":124,"attempts":[
               {"cause":{"kind":"time_limit","what":"the job's time limit was reached",
                         "message":"the job reached its limit of 5:00"}}]})",
            "124 waiting for nodes; the job reached its limit of 5:00"},
           {R"({"schema":"toprun.report/1","attempts":[
               {"hang":{"what":"rank 3 on n1 sleeps","noticed":"2026-11-21T10:00:00.000Z"}}]})",
            "- waiting for nodes; rank 3 on n1 sleeps at 2026-11-21T10:00:00.000Z"},
           {R"({"schema":"toprun.report/1","attempts":[
               {"hang":{"what":"rank 3 on n1 sleeps","noticed":"2026-11-21T10:00:00.000Z",
                        "over":"2026-11-21T10:02:00.000Z"}}]})",
            "- waiting for nodes; rank 3 on n1 sleeps at 2026-11-21T10:00:00.000Z to "
            "2026-11-21T10:02:00.000Z"},
           {R"({"schema":"toprun.report/1","attempts":[{"hang":{"what":7}}]})",
            "- waiting for nodes"},
           {R"({"schema":"toprun.report/1","exit_code":"x","attempts":[7,{"nodes":{"a":1}}]})",
            "- waiting for nodes"},
           {R"({"schema":"toprun.jobs/1"})", "no report"},
           {"{\"schema\"", "no report"},
           {"[]", "no report"},
       }) {
    const auto report = parse_report(text);
    std::string said = "no report";
    if (report) {
      const auto code = model::reported_code(report->run);
      said = code ? fmt::to_string(*code) : "-";
      const model::AttemptRecord& last = report->run.attempts.back();
      said += " " + phase_words(last);
      if (last.cause) said += "; " + model::short_text(*last.cause);
      const std::string times = times_text(last.phases);
      if (!times.empty()) said += "; " + times;
      if (last.awaited) said += "; " + model::awaited_text(*last.awaited);
      for (const std::string& line : model::slowest_lines(last.spreads)) said += "; " + line;
      if (last.hang) {
        said += fmt::format("; {} at {}", last.hang->verdict.what, rfc3339(last.hang->noticed));
        if (last.hang->over) said += " to " + rfc3339(*last.hang->over);
      }
    }
    EXPECT_EQ(said, expected) << text;
  }
}

TEST(JobFiles, TheRootsHostIsTheLastOfTheHosts) {
  const auto order = [](std::string_view host) {
    std::string text;
    for (const LogFile& file :
         with_root_last({{"a", "n0"}, {"b", "n1"}, {"c", "n2"}, {"d", ""}}, host)) {
      text += file.path;
    }
    return text;
  };
  EXPECT_EQ(order("n0"), "bcad");
  EXPECT_EQ(order("n1.cluster.site"), "acbd");
  EXPECT_EQ(order("n2"), "abcd");
  EXPECT_EQ(order("n"), "abcd");
  EXPECT_EQ(order(""), "abcd");
}

}  // namespace
}  // namespace toprun::jobs
