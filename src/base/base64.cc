#include "aliquot/base/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace aliquot {

Result<std::string> DecodeBase64(std::string_view text) {
  std::string in;
  std::copy_if(text.begin(), text.end(), std::back_inserter(in),
               [](unsigned char c) { return std::isspace(c) == 0; });
  const size_t padding = in.ends_with("==") ? 2 : in.ends_with("=") ? 1 : 0;
  std::string out(in.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(in.data()),
                                   static_cast<int>(in.size()));
  const bool padded_inside = in.find('=') < in.size() - padding;
  if (size < 0 || in.size() % 4 != 0 || padded_inside) return InvalidError("not base64");
  // OpenSSL counts the padding as zero bytes.
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and OpenSSL's final NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

}  // namespace aliquot
