#include "load/url.h"

#include "aliquot/base/strings.h"

namespace aliquot::load {
namespace {

constexpr std::string_view kScheme = "http://";

bool IsPort(std::string_view text) {
  const std::optional<int64_t> port = ParseInt64(text);
  return port && *port >= 1 && *port <= 65535;
}

}  // namespace

std::string Url::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + port;
}

Result<Url> ParseUrl(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return InvalidError("URL \"" + std::string(text) + "\": " + std::string(why));
  };
  if (!text.starts_with(kScheme)) return invalid("does not start with http://");
  const std::string_view rest = text.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);

  Url url;
  url.path = slash < rest.size() ? rest.substr(slash) : "/";
  const bool v6 = authority.starts_with('[');
  const size_t end = v6 ? authority.find(']') : authority.find(':');
  if (v6 && end == std::string_view::npos) return invalid("no closing bracket");
  url.host = v6 ? authority.substr(1, end - 1) : authority.substr(0, end);
  const size_t after = v6 ? end + 1 : std::min(end, authority.size());
  const std::string_view port = authority.substr(after);
  url.port = port.empty() ? "80" : port.substr(1);
  if (url.host.empty()) return invalid("no host");
  if ((!port.empty() && port[0] != ':') || !IsPort(url.port)) return invalid("not a port");
  return url;
}

}  // namespace aliquot::load
