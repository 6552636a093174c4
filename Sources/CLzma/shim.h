// The header of liblzma for Swift, with a constant for its macro, which Swift cannot read.
#pragma once
#include <lzma.h>

static const uint32_t clzma_tell_unsupported_check = LZMA_TELL_UNSUPPORTED_CHECK;
