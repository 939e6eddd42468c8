/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which ganesha.nfsd run on this machine, and in which network namespace: a socket is seen only
 * from inside its own.
 */
#ifndef DROPBEHIND_CTL_DAEMONS_H
#define DROPBEHIND_CTL_DAEMONS_H

#include <stdbool.h>
#include <sys/types.h>

struct daemons {
	bool here;	  /* one runs in the caller's network namespace */
	pid_t elsewhere;  /* one that runs in another, 0 if none */
	pid_t unreadable; /* one whose namespace we may not see, 0 if none */
};

/** daemons_find - looks through @proc ("/proc"). Returns 0 or -errno. */
int daemons_find(const char *proc, struct daemons *ret_daemons);

#endif
