/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fileops: file operations of the guest tests that no standard program offers.
 * One process runs one operation; it exits 0 if everything was as it has to be
 * and otherwise prints one line with the step and the error and exits 1.
 *
 * Test data is stamped: every 4 KiB block holds its seed and its offset in the
 * file, so a block from another place, file or generation is recognised.
 */
#ifndef FILEOPS_H
#define FILEOPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STAMP_BLOCK 4096

/* Prints "fileops: STEP: strerror(errno)" and exits 1. */
void die(const char *step) __attribute__((noreturn));

/* Prints a printf-like message and exits 1. */
void wrong(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Number with an optional K, M or G (powers of 1024). */
uint64_t number(const char *text);

/* Fills buf with what belongs at offset of the file stamped with seed. */
void stamp_fill(void *buf, size_t len, uint64_t offset, uint64_t seed);

/* Exits 1, naming path and offset, unless buf holds what stamp_fill() writes. */
void stamp_check(const void *buf, size_t len, uint64_t offset, uint64_t seed, const char *path);

/* pwrite(2) and pread(2) of exactly len bytes; end with die() otherwise. */
void write_all(int fd, const void *buf, size_t len, uint64_t offset);
void read_all(int fd, void *buf, size_t len, uint64_t offset);

/* An operation: argv[0] is its name; returns the exit status. */
typedef int operation(int argc, char **argv);

operation op_write, op_append, op_verify, op_mmap, op_resident;
operation op_mount, op_excl, op_gitobject, op_upgrade, op_unlinked, op_denied;
operation op_fallocate, op_socket;
operation op_locks, op_lockwait, op_flock, op_readlock;

#endif
