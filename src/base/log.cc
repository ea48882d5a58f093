#include "aliquot/base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

namespace aliquot::log {
namespace {

std::atomic<int> g_verbosity{0};
std::atomic<Format> g_format{Format::kText};
std::atomic<uint64_t> g_dropped{0};

// Lines to a descriptor that is never waited for.
class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // The descriptor stays open for good, like the log itself.
  explicit Sink(int fd) : fd_(fd) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    Send();
    if (kept_.empty() && unsaid_ > 0) {
      const std::string said = "Dropped log lines count=" + std::to_string(unsaid_);
      Keep({message.time, {}, message.logger_name, spdlog::level::warn, said});
      unsaid_ = 0;
    }
    Keep(message);
    Send();
  }
  void flush_() override { Send(); }

 private:
  void Keep(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (kept_.size() + line.size() > kKeptBytes) {
      ++unsaid_;
      ++g_dropped;
    } else {
      kept_.append(line.data(), line.size());
    }
  }

  // A pipe that is ready takes PIPE_BUF bytes without blocking.
  bool Ready() const {
    pollfd output{fd_, POLLOUT, 0};
    return ::poll(&output, 1, 0) > 0 && (output.revents & POLLOUT) != 0;
  }

  void Send() {
    size_t sent = 0;
    while (sent < kept_.size() && Ready()) {
      const size_t piece = std::min<size_t>(kept_.size() - sent, PIPE_BUF);
      const ssize_t wrote = ::write(fd_, kept_.data() + sent, piece);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) break;
      sent += static_cast<size_t>(wrote);
    }
    kept_.erase(0, sent);
  }

  const int fd_;
  std::string kept_;
  uint64_t unsaid_ = 0;  // dropped, and not yet told of
};

void AppendQuoted(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == 0x7f) return true;
  return false;
}

void Write(spdlog::level::level_enum level, std::string_view fact, Fields fields) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  if (!logger->should_log(level)) return;
  std::string line;
  if (g_format == Format::kJson) {
    line += "\"msg\":";
    AppendQuoted(line, fact);
    for (const Field& field : fields) {
      line += ',';
      AppendQuoted(line, field.key);
      line += ':';
      AppendQuoted(line, field.value);
    }
  } else {
    line += fact;
    for (const Field& field : fields) {
      line += ' ';
      line += field.key;
      line += '=';
      if (NeedsQuotes(field.value))
        AppendQuoted(line, field.value);
      else
        line += field.value;
    }
  }
  logger->log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void SetUp(const Options& options) {
  g_verbosity = options.verbosity;
  g_format = options.format;
  int fd = STDERR_FILENO;
  if (!options.file.empty()) {
    fd = ::open(options.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
      std::fprintf(stderr, "log file %s: %s; standard error is used\n", options.file.c_str(),
                   std::strerror(errno));
      fd = STDERR_FILENO;
    }
  }
  auto logger = std::make_shared<spdlog::logger>("aliquot", std::make_shared<Sink>(fd));
  logger->set_level(options.verbosity >= 1 ? spdlog::level::debug : spdlog::level::info);
  if (options.format == Format::kJson)
    logger->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})",
                        spdlog::pattern_time_type::utc);
  else
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

void Info(std::string_view fact, Fields fields) { Write(spdlog::level::info, fact, fields); }
void Warn(std::string_view fact, Fields fields) { Write(spdlog::level::warn, fact, fields); }
void Error(std::string_view fact, Fields fields) { Write(spdlog::level::err, fact, fields); }

bool IsDebug(int verbosity) { return g_verbosity >= verbosity; }

uint64_t DroppedLines() { return g_dropped; }

void Debug(int verbosity, std::string_view fact, Fields fields) {
  if (IsDebug(verbosity)) Write(spdlog::level::debug, fact, fields);
}

}  // namespace aliquot::log
