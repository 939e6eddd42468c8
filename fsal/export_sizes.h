/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * MaxRead and MaxWrite of exports: what was asked, what the socket buffers carry, what is served.
 *
 * What the core leaves to us (exports.c of Ganesha 4.3)
 *   - at create it lowers MaxRead and MaxWrite to fs_maxread() and fs_maxwrite(), then, unless all
 *     four sizes were set, takes maxread and maxwrite of get_fs_dynamic_info() for those that were
 *     not;
 *   - at an update it lowers the new values to the same limits and stores them in the live export
 *     after update_export() returned. Nothing is asked then, nothing can be refused without losing
 *     the export at
 *     SIGHUP. So what must not shrink is stored again, by the keeper thread, as soon as the core's
 *     copy has happened.
 */
#ifndef DROPBEHIND_EXPORT_SIZES_H
#define DROPBEHIND_EXPORT_SIZES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sizes.h"

#define SIZE_LINE_MAX 640

/** One direction of one export. Guarded by the export's update_lock but for the atomics. */
struct export_size {
	_Atomic uint32_t cap;	  /* fs_maxread() or fs_maxwrite(): what is served, bytes */
	_Atomic uint64_t floor;	  /* an update that is under way must leave at least this */
	bool set;		  /* in the configuration file */
	uint64_t asked;		  /* bytes, if set */
	uint64_t pref;		  /* preferred size asked for, 0 if not set */
	uint64_t served;	  /* bytes */
	char line[SIZE_LINE_MAX]; /* what is short and what to do, "" if nothing */
};

struct config_error_type;
struct db_export;

/**
 * export_sizes_create - judge the sizes of a new export, log what is short.
 * Called from create_export, with the export's values in op_ctx->ctx_export. Returns 0, or -ERANGE
 * if Socket_Check = Refuse rejects it.
 */
int export_sizes_create(struct db_export *export);

/**
 * export_sizes_update - judge new values. Called from update_export with update_lock held and the
 * options already changed.
 * @node: the FSAL block of the new configuration; the EXPORT block around it is read.
 * @errors: lines for who sent the update.
 *
 * Never fails: what can't be is served as before, and said.
 */
void export_sizes_update(struct db_export *export, void *node, struct config_error_type *errors);

/* size_keeper.c */

/** size_keeper_start, size_keeper_stop - with the module. Start returns 0 or -errno. */
int size_keeper_start(void);
void size_keeper_stop(void);

/**
 * size_keeper_watch - for a few seconds, keep the live export's sizes at or above their floors, and
 * the preferred sizes at or below the maxima. Its struct gsh_export must stay until
 * size_keeper_forget().
 */
void size_keeper_watch(struct db_export *export);

/** size_keeper_forget - returns when the keeper no longer looks at @export. */
void size_keeper_forget(struct db_export *export);

#endif
