/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * libFuzzer target: any bytes as a wire handle. What the decoder accepts, the encoder has to write
 * back byte for byte; everything else is left to the sanitizers.
 */
#include "handle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char again[WIRE_HANDLE_MAX];
	struct wire_handle handle;
	int len;

	if (wire_handle_decode(data, size, &handle) != 0)
		return 0;
	len = wire_handle_encode(&handle, again, sizeof(again));
	if (len < 0 || (size_t)len != size || memcmp(again, data, size) != 0)
		abort();
	return 0;
}
