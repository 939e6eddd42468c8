/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * System calls of the unit tests, wrapped by the linker, so that the core carries no test hook. A
 * test names the calls it wants wrapped in its "wrap:" line (see README); with the 64 in the name
 * too, as in pwritev64v2 and posix_fadvise64, if it is to work under _FILE_OFFSET_BITS=64. Using
 * the mock for a call that is not wrapped aborts.
 *
 * Each call has a FIFO of scripted results; with the FIFO empty the standing result of
 * mock_always() holds, and without one the real call is made. Every call is recorded.
 *
 * Thread safe. mock_reset() belongs in the setup of every suite or test.
 */
#ifndef DROPBEHIND_TEST_MOCK_H
#define DROPBEHIND_TEST_MOCK_H

#include <stddef.h>
#include <stdint.h>

enum mock_call {
	MOCK_PWRITEV2,
	MOCK_PREADV2,
	MOCK_SYNC_FILE_RANGE,
	MOCK_POSIX_FADVISE,
	MOCK_FSYNC,
	MOCK_FDATASYNC,
	MOCK_OPEN_BY_HANDLE_AT,
	MOCK_NAME_TO_HANDLE_AT,
	MOCK_CACHESTAT, /* made through syscall(2), whose other numbers always go to the real one */
	MOCK_MMAP,
	MOCK_MINCORE,
	MOCK_CLOSE,
	MOCK_FSTATFS,
	MOCK_PTHREAD_CREATE,
	MOCK_CALL_COUNT
};

/** What one call was asked. Fields a call has no use for are 0. */
struct mock_record {
	unsigned long order; /* 1, 2, … over all calls since mock_reset() */
	int fd;		     /* the descriptor; -1 where there is none */
	uint64_t offset;
	uint64_t len; /* bytes; the sum of the vectors */
	int flags;    /* RWF_*, SYNC_FILE_RANGE_*, POSIX_FADV_*, O_*, AT_* */
	int count;    /* vectors */
};

/** Forget scripts, hooks and records: every call is real again. */
void mock_reset(void);

/**
 * mock_push - the next call of @call not yet scripted returns @ret without being made.
 * @error: errno for a @ret of -1; for posix_fadvise and pthread_create, which return the error
 *	   itself, give it as @ret.
 */
void mock_push(enum mock_call call, long ret, int error);
void mock_push_times(enum mock_call call, unsigned int times, long ret, int error);

/** mock_fail - as mock_push() of a failure with @error, whichever way @call reports it. */
void mock_fail(enum mock_call call, int error);

/** mock_push_real - the next call not yet scripted is made. */
void mock_push_real(enum mock_call call);

/**
 * mock_push_part - pwritev2 and preadv2: the next call is made for its first @bytes only.
 */
void mock_push_part(enum mock_call call, size_t bytes);

/**
 * mock_push_data - as mock_push(), after @size bytes of @data, which stay the caller's, were copied
 * to where @call puts its result (cachestat, name_to_handle_at, mincore, fstatfs, preadv2's first
 * vector).
 */
void mock_push_data(enum mock_call call, long ret, const void *data, size_t size);

/** mock_always - from now on whenever the FIFO is empty. */
void mock_always(enum mock_call call, long ret, int error);

/** mock_always_real - undo mock_always(). */
void mock_always_real(enum mock_call call);

/**
 * mock_hook - @hook is called in the calling thread before every call, without a lock: it may
 * block, count, or call the mock_ functions. NULL removes it.
 */
void mock_hook(enum mock_call call, void (*hook)(const struct mock_record *record, void *arg),
	       void *arg);

unsigned int mock_calls(enum mock_call call);	/* made or scripted, since mock_reset() */
unsigned int mock_pending(enum mock_call call); /* scripted and not yet used */

/**
 * mock_record - the @n-th call, from 0. Only the first 4096 of each are kept; order 0 if not there.
 */
struct mock_record mock_record(enum mock_call call, unsigned int n);

#endif
