#include "aliquot/base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace aliquot::log {
namespace {

std::atomic<int> g_verbosity{0};
std::atomic<Format> g_format{Format::kText};

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

spdlog::level::level_enum LevelFor(int verbosity) {
  return verbosity >= 1 ? spdlog::level::debug : spdlog::level::info;
}

}  // namespace

void SetUp(const Options& options) {
  g_verbosity = options.verbosity;
  g_format = options.format;
  spdlog::sink_ptr sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (!options.file.empty()) {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    } catch (const spdlog::spdlog_ex& problem) {
      std::fprintf(stderr, "log file %s: %s; standard error is used\n", options.file.c_str(),
                   problem.what());
    }
  }
  auto logger = std::make_shared<spdlog::logger>("aliquot", std::move(sink));
  logger->set_level(LevelFor(options.verbosity));
  logger->flush_on(spdlog::level::info);
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

void SetVerbosity(int verbosity) {
  g_verbosity = verbosity;
  spdlog::default_logger_raw()->set_level(LevelFor(verbosity));
}

int Verbosity() { return g_verbosity; }

bool IsDebug(int verbosity) { return g_verbosity >= verbosity; }

void Debug(int verbosity, std::string_view fact, Fields fields) {
  if (IsDebug(verbosity)) Write(spdlog::level::debug, fact, fields);
}

}  // namespace aliquot::log
