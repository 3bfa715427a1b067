#include "base/text/secrets.h"

#include <gtest/gtest.h>

namespace toprun {
namespace {

using Strings = std::vector<std::string>;

TEST(Secrets, Names) {
  for (const char* name : {"HF_TOKEN",
                           "WANDB_API_KEY",
                           "AWS_SECRET_ACCESS_KEY",
                           "AWS_ACCESS_KEY_ID",
                           "DB_PASSWORD",
                           "MYSQL_PWD",
                           "PGPASSWORD",
                           "DB_PW",
                           "MYPW",
                           "PGPW",
                           "GITHUBTOKEN",
                           "hf_token",
                           "OPENAI_API_KEY",
                           "SSHPASSWORD",
                           "DB_PASS",
                           "GITHUB_PAT",
                           "MY_SECRET_VALUE",
                           "AWS_SESSION_TOKEN",
                           "AWS_WHATEVER",
                           "APIKEY",
                           "api_key",
                           "SSHKEY",
                           "OPENAI_KEY",
                           "SLACK_WEBHOOK_URL",
                           "SSH_PASSPHRASE",
                           "db-password",
                           "STRIPE_SECRET",
                           "KEY",
                           "TOKEN",
                           "SERVICE_CREDENTIALS",
                           "TOPRUN_NOTIFY"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name : {"A",
                           "HOME",
                           "TOKENIZERS_PARALLELISM",
                           "MAX_TOKENS",
                           "AWS_REGION",
                           "AWS_PROFILE",
                           "WANDB_PROJECT",
                           "NCCL_DEBUG",
                           "PYTHONPATH",
                           "PWD",
                           "OLDPWD",
                           "KEYBOARD_LAYOUT",
                           "COMPASS",
                           "MONKEY",
                           "donkey_count",
                           "TOPRUN_SECRET_FILE",
                           "HF_TOKEN_PATH",
                           "GOOGLE_APPLICATION_CREDENTIALS_FILE",
                           "PATH",
                           "",
                           "PASSAGE",
                           "AUTHOR",
                           "NUM_PW",
                           "NUM_GPW",
                           "PWM",
                           "IPW",
                           "PW_SIZE_PATH",
                           "MASTER_ADDR"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Secrets, FormsOfValues) {
  for (const char* text :
       {"hf_abcdefghijklmnopqrstuvwxyz012345",
        "ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-abcdefghij0123456789",
        "sk-abcdefghij0123456789ABCDEFGHIJ",
        "sk-ant-api03-abcdefghij0123456789",
        "xoxb-123456789012-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "user:password@host",
        "http://ada:hush@proxy:3128",
        "https://token@github.com/a/b",
        "postgresql://ada:hush@db.example.org/x",
        "https://hooks.slack.com/services/T0/B0/x",
        "Authorization: Bearer abcdef0123456789abcd",
        "https://store.example/a?sv=1&sig=abcdefgh12345678",
        "host=db password=hush user=ada",
        "DefaultEndpointsProtocol=https;AccountKey=abcd",
        "{\"client_secret\": \"hush\"}",
        "x=1 export HF=hf_abcdefghijklmnopqrstuvwxyz012345"}) {
    EXPECT_TRUE(has_secret_form(text)) << text;
  }
  for (const char* text : {"",
                           "1",
                           "two words",
                           "B:USR2@120",
                           "registry.io/image:1@sha256:0123456789abcdef",
                           "1@5:00",
                           "git@github.com:a/b.git",
                           "ssh://git@host/a",
                           "mailto:ada@example.org",
                           "ada@example.org",
                           "hf_hub_download",
                           "sk-learn-random-forest",
                           "tcp://10.0.0.1:29500",
                           "password=$PASSWORD",
                           "--password-file=/etc/x",
                           "a:b",
                           "n0:2,n1:2",
                           "eyJ",
                           "-----BEGIN CERTIFICATE-----\nMIID",
                           "https://example.org/a?b=c&page=12",
                           "Bearer",
                           "secret=none",
                           "http://proxy:3128",
                           "tokenizer.pad_token=<pad>"}) {
    EXPECT_FALSE(has_secret_form(text)) << text;
  }
}

// Each of these parts begins a form that never ends: read from each beginning to the end, they
// would take minutes.
TEST(Secrets, LongTextsAreReadOnce) {
  for (const std::string_view part :
       {"-", "?sig=", "password=$", "a:b", "://", "-----BEGIN ", "eyJ", "Bearer ", "hf_-"}) {
    std::string text;
    while (text.size() < 200'000) text += part;
    has_secret_form(text);
    EXPECT_FALSE(holds_a_secret("PLAIN", text.substr(0, 10))) << part;
  }
}

TEST(Secrets, LongRandomValues) {
  for (const char* value :
       {"4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a", "Zx81Kq0Pv7Lm2Nc93RtYb5Wd",
        "q2W8e9R1t4Y7u3I6o0P5a8S1d", "wJ4lrXU7nF/K7mD3nG+bP9xRf1iC8Yx/A2pLe5K"}) {
    EXPECT_TRUE(holds_a_secret("PLAIN", value)) << value;
  }
  for (const char* value :
       {"", "0", "1", "abcdefghijklmnopqrstuvwxyz", "12345678901234567890123456789012345",
        "meta-llama/Llama-3.1-70B-Instruct", "/scratch/runs/Zx81Kq0Pv7Lm2Nc93RtYb5Wd/out",
        "0f8fad5b-d9cb-469f-a165-70867728950e", "2026-11-28T10:55:55Z", "expandable_segments:True",
        "MyExperimentWithLearningRate0001AndWarmup",
        "Qwen2.5-VL-72B-Instruct-GPTQ-Int4-final-checkpoint", "0,1,2,3,4,5,6,7",
        "sha256:4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a4f9a1c0e7b2d48569e3fa1b2"}) {
    EXPECT_FALSE(holds_a_secret("PLAIN", value)) << value;
  }
  EXPECT_FALSE(holds_a_secret("GIT_COMMIT", "4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a"));
  EXPECT_FALSE(holds_a_secret("HF_TOKEN", ""));
}

TEST(Secrets, WordsOfACommandLine) {
  struct Case {
    Strings words;
    const char* found;
    Strings shown;
  };
  const std::string token = "hf_abcdefghijklmnopqrstuvwxyz012345";
  for (const auto& [words, found, shown] : std::vector<Case>{
           {{"train.py", "--hf-token", token},
            "--hf-token <secret>",
            {"train.py", "--hf-token", "<secret>"}},
           {{"train.py", token}, "<secret> after train.py", {"train.py", "<secret>"}},
           {{token}, "<secret>", {"<secret>"}},
           {{"-k=1", token}, "<secret> after -k=1", {"-k=1", "<secret>"}},
           {{"a.py", "--password", "hush"}, "--password", {"a.py", "--password", "<secret>"}},
           {{"a.py", "--api-key=hush"}, "--api-key", {"a.py", "--api-key=<secret>"}},
           {{"--wandb-key", "4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a"},
            "--wandb-key",
            {"--wandb-key", "<secret>"}},
           {{"--env-secret", "HF_TOKEN=" + token + ",key=hf"},
            "HF_TOKEN=<secret>,key=hf",
            {"--env-secret", "HF_TOKEN=<secret>,key=hf"}},
           {{"--env-secret", "HF_TOKEN=hush"}, "HF_TOKEN", {"--env-secret", "HF_TOKEN=<secret>"}},
           {{"env", "DB_PASSWORD=x", "a"}, "DB_PASSWORD", {"env", "DB_PASSWORD=<secret>", "a"}},
           {{"--export=ALL,MY_TOKEN=x"}, "--export", {"--export=<secret>"}},
           {{"sh", "-c", "T=" + token + " a"}, "T=<secret> a", {"sh", "-c", "T=<secret> a"}}}) {
    EXPECT_EQ(word_with_secret(words), found) << words.back();
    EXPECT_EQ(without_secrets(words), shown);
  }
  for (const Strings& words :
       {Strings{"a.py", "--pad-token", "[PAD]"}, Strings{"--tokenizer", "meta-llama/Llama-3-8B"},
        Strings{"--password", "--next"}, Strings{"--hf-token", "$HF_TOKEN"},
        Strings{"--image-key=image_0"}, Strings{"--export=ALL,A=1"}, Strings{"--export=MY_TOKEN"},
        Strings{"--eos-token=</s>"}, Strings{"--signal=B:USR2@120"},
        Strings{"--key-file", "/etc/key"}, Strings{"--env-secret", "HF_TOKEN=tokens,key=hf"},
        Strings{"--commit", "4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a"}}) {
    EXPECT_EQ(word_with_secret(words), std::nullopt) << words.back();
    EXPECT_EQ(without_secrets(words), words);
  }
}

TEST(Secrets, OfATextTheSecretAloneIsHidden) {
  EXPECT_EQ(without_secrets("http://ada:hush@proxy:3128/x"), "http://<secret>@proxy:3128/x");
  EXPECT_EQ(without_secrets("a hf_abcdefghijklmnopqrstuvwxyz012345 b"), "a <secret> b");
  EXPECT_EQ(without_secrets("nothing"), "nothing");
}

TEST(Secrets, OfALineThatAProgramPrinted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"step 230  loss 1e-05", "step 230  loss 1e-05"},
      {"  lr=0.1\tmax_token=4096 ", "  lr=0.1\tmax_token=4096 "},
      {"HF_TOKEN=x1y2 is set", "HF_TOKEN=<secret> is set"},
      {"run --password hunter2  now", "run --password <secret>  now"},
      {"--password hunter2", "--password <secret>"},
      {"got hf_abcdefghijklmnopqrstuvwxyz012345.", "got <secret>."},
      {"", ""},
  };
  for (const auto& [line, shown] : cases) EXPECT_EQ(line_without_secrets(line), shown);
}

}  // namespace
}  // namespace toprun
