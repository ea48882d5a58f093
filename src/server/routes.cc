#include "server/routes.h"

#include "aliquot/base/strings.h"

namespace aliquot::server {

Match RouteTable::Find(std::string_view method, std::string_view target) const {
  const std::string_view path = target.substr(0, target.find('?'));
  std::string_view trimmed = path;
  if (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.remove_suffix(1);

  Match match;
  for (const Route& route : routes_) {
    if (route.path == path) {
      if (route.method == method) return {&route, 200, {}, {}};
      match.status = 405;
      match.allow += (match.allow.empty() ? "" : ", ") + route.method;
    } else if (route.method == method && EqualsIgnoreCase(route.path, trimmed)) {
      match.status = method == "GET" ? 301 : 307;
      match.location = route.path + std::string(target.substr(path.size()));
    }
  }
  return match;
}

}  // namespace aliquot::server
