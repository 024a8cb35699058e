// A function that a shared object offers to Python; all others are its own.
#pragma once

#define ACROBAT_EXPORT extern "C" __attribute__((visibility("default")))
