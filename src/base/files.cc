#include "aliquot/base/files.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace aliquot {

Result<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  std::string text;
  char piece[4096];
  for (size_t size = 1; file && size > 0;) {
    size = std::fread(piece, 1, sizeof(piece), file.get());
    text.append(piece, size);
  }
  if (file && std::ferror(file.get()) == 0) return text;
  const int code = errno;
  return Error{code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
               path + ": " + std::generic_category().message(code)};
}

}  // namespace aliquot
