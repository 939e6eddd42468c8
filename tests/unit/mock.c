/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Scripted system calls: see mock.h. A wrapper describes its call in a record, asks begin() what to
 * do, and either makes the call or answers as scripted.
 */
#include "mock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernel_abi.h"

typedef ssize_t transfer_fn(int fd, const struct iovec *iov, int count, off_t offset, int flags);
typedef int sync_range_fn(int fd, off_t offset, off_t len, unsigned int flags);
typedef int fadvise_fn(int fd, off_t offset, off_t len, int advice);
typedef int fd_fn(int fd);
typedef int open_handle_fn(int mount_fd, struct file_handle *handle, int flags);
typedef int name_fn(int fd, const char *name, struct file_handle *handle, int *mount_id, int flags);
typedef long syscall_fn(long number, ...);
typedef void *mmap_fn(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
typedef int mincore_fn(void *addr, size_t len, unsigned char *vec);
typedef int fstatfs_fn(int fd, struct statfs *buf);
typedef int thread_fn(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
		      void *arg);

/* Weak: NULL in a program that does not wrap the call, where nobody calls the wrapper either */
#define WEAK __attribute__((weak))
WEAK transfer_fn __real_pwritev2, __real_preadv2;
WEAK sync_range_fn __real_sync_file_range;
WEAK fadvise_fn __real_posix_fadvise;
WEAK fd_fn __real_fsync, __real_fdatasync, __real_close;
WEAK open_handle_fn __real_open_by_handle_at;
WEAK name_fn __real_name_to_handle_at;
WEAK syscall_fn __real_syscall;
WEAK mmap_fn __real_mmap;
WEAK mincore_fn __real_mincore;
WEAK fstatfs_fn __real_fstatfs;
WEAK thread_fn __real_pthread_create;

/* A script for a call that is not wrapped would be ignored: the test would prove nothing */
static void need_wrapped(enum mock_call call)
{
	const bool wrapped[MOCK_CALL_COUNT] = {
		[MOCK_PWRITEV2] = __real_pwritev2,
		[MOCK_PREADV2] = __real_preadv2,
		[MOCK_SYNC_FILE_RANGE] = __real_sync_file_range,
		[MOCK_POSIX_FADVISE] = __real_posix_fadvise,
		[MOCK_FSYNC] = __real_fsync,
		[MOCK_FDATASYNC] = __real_fdatasync,
		[MOCK_OPEN_BY_HANDLE_AT] = __real_open_by_handle_at,
		[MOCK_NAME_TO_HANDLE_AT] = __real_name_to_handle_at,
		[MOCK_CACHESTAT] = __real_syscall,
		[MOCK_MMAP] = __real_mmap,
		[MOCK_MINCORE] = __real_mincore,
		[MOCK_CLOSE] = __real_close,
		[MOCK_FSTATFS] = __real_fstatfs,
		[MOCK_PTHREAD_CREATE] = __real_pthread_create,
	};

	if (wrapped[call])
		return;
	fprintf(stderr, "mock: call %d is not in the test's \"wrap:\" line\n", (int)call);
	abort();
}

#define FIFO_MAX 1024
#define RECORD_MAX 4096

enum kind { KIND_REAL, KIND_PART, KIND_FIXED };

struct result {
	enum kind kind;
	long ret;
	int error;
	const void *data;
	size_t size; /* of data; bytes of KIND_PART */
};

struct script {
	struct result fifo[FIFO_MAX];
	unsigned int head;
	unsigned int tail;
	struct result always; /* KIND_REAL: none */
	void (*hook)(const struct mock_record *record, void *arg);
	void *hook_arg;
	unsigned int calls;
	struct mock_record record[RECORD_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct script script[MOCK_CALL_COUNT];
static unsigned long order;

void mock_reset(void)
{
	pthread_mutex_lock(&lock);
	memset(script, 0, sizeof(script));
	order = 0;
	pthread_mutex_unlock(&lock);
}

static void push(enum mock_call call, struct result result)
{
	struct script *s = &script[call];

	need_wrapped(call);
	pthread_mutex_lock(&lock);
	if (s->tail - s->head == FIFO_MAX)
		abort();
	s->fifo[s->tail++ % FIFO_MAX] = result;
	pthread_mutex_unlock(&lock);
}

void mock_push(enum mock_call call, long ret, int error)
{
	push(call, (struct result){ .kind = KIND_FIXED, .ret = ret, .error = error });
}

void mock_push_times(enum mock_call call, unsigned int times, long ret, int error)
{
	while (times-- > 0)
		mock_push(call, ret, error);
}

void mock_fail(enum mock_call call, int error)
{
	if (call == MOCK_POSIX_FADVISE || call == MOCK_PTHREAD_CREATE)
		mock_push(call, error, 0);
	else
		mock_push(call, -1, error);
}

void mock_push_real(enum mock_call call)
{
	push(call, (struct result){ .kind = KIND_REAL });
}

void mock_push_part(enum mock_call call, size_t bytes)
{
	push(call, (struct result){ .kind = KIND_PART, .size = bytes });
}

void mock_push_data(enum mock_call call, long ret, const void *data, size_t size)
{
	push(call, (struct result){ .kind = KIND_FIXED, .ret = ret, .data = data, .size = size });
}

void mock_always(enum mock_call call, long ret, int error)
{
	need_wrapped(call);
	pthread_mutex_lock(&lock);
	script[call].always = (struct result){ .kind = KIND_FIXED, .ret = ret, .error = error };
	pthread_mutex_unlock(&lock);
}

void mock_always_real(enum mock_call call)
{
	pthread_mutex_lock(&lock);
	script[call].always = (struct result){ .kind = KIND_REAL };
	pthread_mutex_unlock(&lock);
}

void mock_hook(enum mock_call call, void (*hook)(const struct mock_record *record, void *arg),
	       void *arg)
{
	need_wrapped(call);
	pthread_mutex_lock(&lock);
	script[call].hook = hook;
	script[call].hook_arg = arg;
	pthread_mutex_unlock(&lock);
}

unsigned int mock_calls(enum mock_call call)
{
	unsigned int calls;

	need_wrapped(call);
	pthread_mutex_lock(&lock);
	calls = script[call].calls;
	pthread_mutex_unlock(&lock);
	return calls;
}

unsigned int mock_pending(enum mock_call call)
{
	unsigned int pending;

	pthread_mutex_lock(&lock);
	pending = script[call].tail - script[call].head;
	pthread_mutex_unlock(&lock);
	return pending;
}

struct mock_record mock_record(enum mock_call call, unsigned int n)
{
	struct mock_record record = { 0 };

	pthread_mutex_lock(&lock);
	if (n < script[call].calls && n < RECORD_MAX)
		record = script[call].record[n];
	pthread_mutex_unlock(&lock);
	return record;
}

static struct result begin(enum mock_call call, struct mock_record record)
{
	void (*hook)(const struct mock_record *record, void *arg);
	struct script *s = &script[call];
	struct result result;
	void *arg;

	pthread_mutex_lock(&lock);
	record.order = ++order;
	if (s->calls < RECORD_MAX)
		s->record[s->calls] = record;
	s->calls++;
	hook = s->hook;
	arg = s->hook_arg;
	pthread_mutex_unlock(&lock);
	if (hook)
		hook(&record, arg);
	pthread_mutex_lock(&lock);
	result = s->head != s->tail ? s->fifo[s->head++ % FIFO_MAX] : s->always;
	pthread_mutex_unlock(&lock);
	return result;
}

static long answer(const struct result *result, void *out)
{
	if (result->data && out)
		memcpy(out, result->data, result->size);
	if (result->error)
		errno = result->error;
	return result->ret;
}

static uint64_t vectors_len(const struct iovec *iov, int count)
{
	uint64_t len = 0;

	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

static ssize_t transfer_part(transfer_fn *real, const struct iovec *iov,
			     const struct mock_record *record, size_t bytes)
{
	struct iovec part[IOV_MAX];
	int count = 0;

	while (count < record->count && bytes > 0) {
		part[count] = iov[count];
		if (part[count].iov_len > bytes)
			part[count].iov_len = bytes;
		bytes -= part[count].iov_len;
		count++;
	}
	return real(record->fd, part, count, (off_t)record->offset, record->flags);
}

static ssize_t transfer(enum mock_call call, transfer_fn *real, const struct iovec *iov,
			struct mock_record record)
{
	struct result result;

	record.len = vectors_len(iov, record.count);
	result = begin(call, record);
	if (result.kind == KIND_PART)
		return transfer_part(real, iov, &record, result.size);
	if (result.kind == KIND_REAL)
		return real(record.fd, iov, record.count, (off_t)record.offset, record.flags);
	return answer(&result, call == MOCK_PREADV2 ? iov[0].iov_base : NULL);
}

transfer_fn __wrap_pwritev2, __wrap_pwritev64v2, __wrap_preadv2, __wrap_preadv64v2;

ssize_t __wrap_pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return transfer(
		MOCK_PWRITEV2, __real_pwritev2, iov,
		(struct mock_record){
			.fd = fd, .offset = (uint64_t)offset, .flags = flags, .count = count });
}

/* The name that <sys/uio.h> gives pwritev2() under _FILE_OFFSET_BITS=64 */
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return __wrap_pwritev2(fd, iov, count, offset, flags);
}

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return transfer(
		MOCK_PREADV2, __real_preadv2, iov,
		(struct mock_record){
			.fd = fd, .offset = (uint64_t)offset, .flags = flags, .count = count });
}

ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return __wrap_preadv2(fd, iov, count, offset, flags);
}

sync_range_fn __wrap_sync_file_range;

int __wrap_sync_file_range(int fd, off_t offset, off_t len, unsigned int flags)
{
	struct result result =
		begin(MOCK_SYNC_FILE_RANGE, (struct mock_record){ .fd = fd,
								  .offset = (uint64_t)offset,
								  .len = (uint64_t)len,
								  .flags = (int)flags });

	if (result.kind == KIND_REAL)
		return __real_sync_file_range(fd, offset, len, flags);
	return (int)answer(&result, NULL);
}

fadvise_fn __wrap_posix_fadvise, __wrap_posix_fadvise64;

int __wrap_posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
	struct result result =
		begin(MOCK_POSIX_FADVISE, (struct mock_record){ .fd = fd,
								.offset = (uint64_t)offset,
								.len = (uint64_t)len,
								.flags = advice });

	if (result.kind == KIND_REAL)
		return __real_posix_fadvise(fd, offset, len, advice);
	return (int)answer(&result, NULL);
}

int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice)
{
	return __wrap_posix_fadvise(fd, offset, len, advice);
}

fd_fn __wrap_fsync, __wrap_fdatasync, __wrap_close;

static int of_fd(enum mock_call call, fd_fn *real, int fd)
{
	struct result result = begin(call, (struct mock_record){ .fd = fd });

	if (result.kind == KIND_REAL)
		return real(fd);
	return (int)answer(&result, NULL);
}

int __wrap_fsync(int fd)
{
	return of_fd(MOCK_FSYNC, __real_fsync, fd);
}

int __wrap_fdatasync(int fd)
{
	return of_fd(MOCK_FDATASYNC, __real_fdatasync, fd);
}

int __wrap_close(int fd)
{
	return of_fd(MOCK_CLOSE, __real_close, fd);
}

open_handle_fn __wrap_open_by_handle_at;

int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	struct result result =
		begin(MOCK_OPEN_BY_HANDLE_AT, (struct mock_record){ .fd = mount_fd,
								    .len = handle->handle_bytes,
								    .flags = flags });

	if (result.kind == KIND_REAL)
		return __real_open_by_handle_at(mount_fd, handle, flags);
	return (int)answer(&result, NULL);
}

name_fn __wrap_name_to_handle_at;

int __wrap_name_to_handle_at(int fd, const char *name, struct file_handle *handle, int *mount_id,
			     int flags)
{
	struct result result = begin(
		MOCK_NAME_TO_HANDLE_AT,
		(struct mock_record){ .fd = fd, .len = handle->handle_bytes, .flags = flags });

	if (result.kind == KIND_REAL)
		return __real_name_to_handle_at(fd, name, handle, mount_id, flags);
	return (int)answer(&result, handle);
}

syscall_fn __wrap_syscall;

long __wrap_syscall(long number, ...)
{
	struct kernel_cachestat_range *range;
	struct result result;
	long arg[5];
	va_list ap;

	/* Five are in registers, given or not; a sixth would be read from the caller's stack */
	va_start(ap, number);
	for (int i = 0; i < 5; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == KERNEL_NR_CACHESTAT) {
		range = (struct kernel_cachestat_range *)arg[1];
		result = begin(MOCK_CACHESTAT, (struct mock_record){ .fd = (int)arg[0],
								     .offset = range->off,
								     .len = range->len });
		if (result.kind == KIND_FIXED)
			return answer(&result, (void *)arg[2]);
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
}

mmap_fn __wrap_mmap, __wrap_mmap64;

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct result result =
		begin(MOCK_MMAP,
		      (struct mock_record){
			      .fd = fd, .offset = (uint64_t)offset, .len = len, .flags = flags });

	if (result.kind == KIND_REAL)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	return (void *)answer(&result, NULL);
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return __wrap_mmap(addr, len, prot, flags, fd, offset);
}

mincore_fn __wrap_mincore;

int __wrap_mincore(void *addr, size_t len, unsigned char *vec)
{
	struct result result = begin(MOCK_MINCORE, (struct mock_record){ .fd = -1, .len = len });

	if (result.kind == KIND_REAL)
		return __real_mincore(addr, len, vec);
	return (int)answer(&result, vec);
}

fstatfs_fn __wrap_fstatfs, __wrap_fstatfs64;

int __wrap_fstatfs(int fd, struct statfs *buf)
{
	struct result result = begin(MOCK_FSTATFS, (struct mock_record){ .fd = fd });

	if (result.kind == KIND_REAL)
		return __real_fstatfs(fd, buf);
	return (int)answer(&result, buf);
}

int __wrap_fstatfs64(int fd, struct statfs *buf)
{
	return __wrap_fstatfs(fd, buf);
}

thread_fn __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg)
{
	struct result result = begin(MOCK_PTHREAD_CREATE, (struct mock_record){ .fd = -1 });

	if (result.kind == KIND_REAL)
		return __real_pthread_create(thread, attr, start, arg);
	return (int)answer(&result, NULL);
}
