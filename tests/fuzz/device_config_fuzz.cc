// The device configuration file.
#include "aliquot/config/device_config.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  Result<config::DeviceConfig> parsed = config::ParseDeviceConfig(text, "fuzz.yaml");
  if (parsed) parsed->warnings.clear();  // not part of what is written
  const auto parse = [](const std::string& yaml) {
    Result<config::DeviceConfig> again = config::ParseDeviceConfig(yaml, "fuzz.yaml");
    if (again) again->warnings.clear();
    return again;
  };
  fuzz::RequireRoundTrip(parsed, parse, config::DeviceConfigYaml);
  return 0;
}
