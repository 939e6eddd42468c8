/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Makes the module one for another version of Ganesha's FSAL interface. Included before each source
 * of the target fsaldropbehind-wrong-version, which bad-configuration-is-refused-clearly.sh loads.
 */
#include "config.h"
#include "fsal.h"

#undef FSAL_MAJOR_VERSION
#define FSAL_MAJOR_VERSION 99
