// Marks a function that a shared object exports; all other functions are hidden (`-fvisibility=hidden`).
#pragma once

#define ACROBAT_EXPORT extern "C" __attribute__((visibility("default")))
