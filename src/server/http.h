// cpp-httplib, and nothing else: include it only through this header.
#pragma once

// The library is built with OpenSSL, and lays out httplib::Request accordingly.
#define CPPHTTPLIB_OPENSSL_SUPPORT
#include <httplib.h>
