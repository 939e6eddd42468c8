/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The wire handle: what goes to NFS clients behind Ganesha's own header. The format is the one that
 * FSAL_VFS 4.3 puts on the wire, so that clients of a VFS export keep their handles:
 *
 *     1 byte       fsid type | 0x20 for a "dummy" | 0x40, 0x80, 0xC0: kernel type in 1, 2, 4 bytes
 *     0, 8, 16     filesystem id
 *     1, 2, 4      kernel handle type, in the byte order of the host (absent in a dummy)
 *     rest         kernel handle (absent in a dummy)
 *
 * at most WIRE_HANDLE_MAX bytes, which leaves Ganesha's 5-byte header room in NFSv3's 64. The
 * kernel type takes the shortest field that holds it: 1 byte up to 255, 2 bytes up to 32767, else
 * 4.
 *
 * Everything here is input from the network: no field is believed before it was checked. One handle
 * has one encoding, so that bytes can be compared and hashed in its place.
 */
#ifndef DROPBEHIND_HANDLE_H
#define DROPBEHIND_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_HANDLE_MAX 128 /* MAX_HANDLE_SZ of the kernel */
#define WIRE_HANDLE_MAX 59
#define WIRE_FSID_MAX 16
#define WIRE_FSID_TYPES 6 /* values 0..5 as Ganesha's enum fsid_type */

/*
 * Kernel handles that can be on the wire. The kernel gives whole 32-bit words (fs/fhandle.c,
 * do_sys_name_to_handle()), the smallest is FILEID_INO32_GEN with two (include/linux/exportfs.h),
 * and FSAL_VFS asks for at most 48 bytes and refuses less than 8 from the wire.
 */
#define WIRE_KERNEL_MIN 8
#define WIRE_KERNEL_MAX 48
#define WIRE_KERNEL_WORD 4

/** A kernel file handle, as name_to_handle_at(2) gives it. */
struct kernel_handle {
	int type;	  /* not negative */
	unsigned int len; /* bytes used in data */
	unsigned char data[KERNEL_HANDLE_MAX];
};

struct wire_handle {
	uint8_t fsid_type;
	bool dummy; /* stands for an object on a filesystem that can't give handles */
	uint8_t fsid_len;
	unsigned char fsid[WIRE_FSID_MAX];
	struct kernel_handle kernel; /* all zero in a dummy */
};

/**
 * wire_fsid_len - bytes of an fsid of @type: 0, 8 or 16; -EINVAL for an unknown type.
 */
int wire_fsid_len(unsigned int type);

/**
 * wire_handle_encode - into @buf of @size bytes. Returns the length, -EOVERFLOW if it does not fit
 * @size or WIRE_HANDLE_MAX or the kernel handle is longer than WIRE_KERNEL_MAX, -EINVAL for fields
 * that contradict each other or can't be real. @buf is untouched on failure.
 */
int wire_handle_encode(const struct wire_handle *handle, void *buf, size_t size);

/**
 * wire_handle_decode - from @len bytes at @buf. Returns 0, or -EINVAL for anything that
 * wire_handle_encode() could not have produced (also: a kernel type that would fit a shorter
 * field). Bytes of @ret_handle that the handle does not use are 0; it is untouched on failure.
 */
int wire_handle_decode(const void *buf, size_t len, struct wire_handle *ret_handle);

/**
 * handle_of_name - kernel handle of @name in directory @dir_fd ("" with AT_EMPTY_PATH semantics:
 * the object @dir_fd itself). Symbolic links are not followed.
 * Returns 0 or -errno: -EOPNOTSUPP where the filesystem has no handles, -EOVERFLOW.
 */
int handle_of_name(int dir_fd, const char *name, struct kernel_handle *ret_handle);

/**
 * handle_open - open_by_handle_at(2) with @flags | O_CLOEXEC | O_NOFOLLOW (O_NONBLOCK is added
 * unless O_PATH, so that a FIFO can't block the caller).
 * @mount_fd: any descriptor on the filesystem, not O_PATH.
 *
 * Needs CAP_DAC_READ_SEARCH, and bypasses every permission check on the way to the object.
 * Returns a descriptor or -errno; ENOENT is returned as -ESTALE, -EINVAL is a handle of no use.
 */
int handle_open(int mount_fd, const struct kernel_handle *handle, int flags);

bool handle_equal(const struct kernel_handle *a, const struct kernel_handle *b);

#endif
