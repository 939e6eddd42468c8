/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What would be served, and why: see verdict.h; the arithmetic is in src/sizes.c. */
#include "verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "size_store.h"

#define LINUX_CLIENT_MAX (1U << 20) /* NFS_MAX_FILE_IO_SIZE, include/linux/nfs_fs.h */

static struct about about_size(const struct export_entry *entry, const struct asked_size *size,
			       const char *key)
{
	return (struct about){
		.file = size->place.file,
		.line = size->place.line,
		.export_id = entry->id,
		.key = key,
	};
}

/* What nobody asked for is no fault: with the defaults of Linux every export falls short of it */
static void say_short(const struct verdict *verdict, const struct export_verdict *export,
		      enum size_direction direction)
{
	const struct export_entry *entry = export->entry;
	const struct asked_size *asked = &entry->max[direction];
	const struct size_offer *offer = &export->offer[direction];
	struct about about = about_size(entry, asked, size_key(direction, false));
	char value[24], served[32] = "nothing, the export is refused", help[256];

	snprintf(value, sizeof(value), "%" PRIu64, asked->set ? asked->bytes : offer->max);
	about.value = asked->set ? value : NULL;
	if (!export->refused)
		snprintf(served, sizeof(served), "%" PRIu64, offer->max);
	sizes_remedy(direction, &verdict->ceilings, offer->needed, help);
	finding_add(&verdict->configuration->findings, asked->set ? FINDING_SHORT : FINDING_NOTE,
		    &about,
		    "%s = %s%s: %s[2] is %" PRIu64 ", %" PRIu64 " requests of it need %" PRIu64
		    "; served: %s (Socket_Check = %s). Remedy: %s",
		    about.key, value, asked->set ? "" : " (not set)", size_sysctl(direction),
		    offer->ceiling, entry->options.value[OPTION_Socket_Requests], offer->needed,
		    served,
		    socket_check_name((enum socket_check)entry->options.value[OPTION_Socket_Check]),
		    help);
}

static void say_preferred(const struct verdict *verdict, const struct export_verdict *export,
			  enum size_direction direction)
{
	const struct asked_size *pref = &export->entry->pref[direction];
	const char *key = size_key(direction, true);
	uint64_t max = export->offer[direction].max;
	struct about about = about_size(export->entry, pref, key);
	char value[24];

	if (!pref->set || pref->bytes == max)
		return;
	snprintf(value, sizeof(value), "%" PRIu64, pref->bytes);
	about.value = value;
	if (pref->bytes < max)
		finding_add(&verdict->configuration->findings, FINDING_WARNING, &about,
			    "%s = %s is below the %s served, %" PRIu64
			    ": NFSv3 clients start from the smaller",
			    key, value, size_key(direction, false), max);
	else
		finding_add(&verdict->configuration->findings, FINDING_WARNING, &about,
			    "%s = %s is above the %s served: it is lowered to %" PRIu64, key, value,
			    size_key(direction, false), max);
}

/* What this export offered before, where the daemon keeps it: neither Clamp nor Auto goes below */
static void offered_before(const struct verdict *verdict, const struct export_entry *entry,
			   uint64_t ret_sizes[SIZE_DIRECTIONS])
{
	char path[PATH_MAX];

	memset(ret_sizes, 0, sizeof(ret_sizes[0]) * SIZE_DIRECTIONS);
	if (entry->id == NO_EXPORT)
		return;
	snprintf(path, sizeof(path), "%s/dropbehind.sizes", verdict->configuration->recovery_root);
	(void)size_store_get(path, (uint16_t)entry->id, ret_sizes);
}

static void judge_size(const struct verdict *verdict, struct export_verdict *export,
		       enum size_direction direction, uint64_t before)
{
	const struct export_entry *entry = export->entry;
	const struct asked_size *pref = &entry->pref[direction];
	struct size_offer *offer = &export->offer[direction];
	const struct size_wish wish = {
		.set = entry->max[direction].set,
		.max = entry->max[direction].bytes,
		.in_force = before,
	};
	const struct size_rules rules = {
		.check = (enum socket_check)entry->options.value[OPTION_Socket_Check],
		.requests = (unsigned int)entry->options.value[OPTION_Socket_Requests],
	};

	sizes_offer(direction, &wish, &verdict->ceilings, &rules, offer);
	export->refused = export->refused || offer->refused;
	export->pref[direction] = offer->max;
	if (pref->set && pref->bytes < offer->max)
		export->pref[direction] = pref->bytes;
}

static void judge_export(struct verdict *verdict, struct export_verdict *export)
{
	const struct export_entry *entry = export->entry;
	uint64_t before[SIZE_DIRECTIONS];

	export->refused = entry->refused;
	offered_before(verdict, entry, before);
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		judge_size(verdict, export, d, before[d]);
	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		if (export->offer[d].is_short && (entry->max[d].set || !export->refused))
			say_short(verdict, export, d);
		if (!export->refused)
			say_preferred(verdict, export, d);
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_memory(struct verdict *verdict, const struct export_verdict *export)
{
	struct size_memory memory;

	if (export->refused)
		return;
	sizes_memory(export->offer[SIZE_READ].max, export->offer[SIZE_WRITE].max,
		     (unsigned int)verdict->configuration->rpc_threads, &memory);
	verdict->memory.workers = larger(verdict->memory.workers, memory.workers);
	verdict->memory.per_connection =
		larger(verdict->memory.per_connection, memory.per_connection);
}

static void say_overall(const struct verdict *verdict)
{
	static const struct about about = { .export_id = NO_EXPORT };
	bool larger_served = false;

	if (verdict->configuration->count == 0)
		finding_add(&verdict->configuration->findings, FINDING_WARNING, &about,
			    "no EXPORT with FSAL { Name = DROPBEHIND; } is in it");
	for (size_t i = 0; i < verdict->configuration->count; i++)
		for (int d = 0; d < SIZE_DIRECTIONS; d++)
			larger_served = larger_served ||
					(!verdict->exports[i].refused &&
					 verdict->exports[i].offer[d].max > LINUX_CLIENT_MAX);
	if (larger_served)
		finding_add(&verdict->configuration->findings, FINDING_NOTE, &about,
			    "the kernel client of Linux sends at most %u bytes per request, "
			    "whatever a server offers",
			    LINUX_CLIENT_MAX);
}

/* Two exports with one id: Ganesha refuses the second */
static void say_duplicates(const struct configuration *configuration, struct findings *findings)
{
	for (size_t i = 1; i < configuration->count; i++) {
		const struct export_entry *entry = &configuration->exports[i];
		struct about about = { entry->place.file, entry->place.line, entry->id, "Export_Id",
				       NULL };

		for (size_t k = 0; k < i && entry->id != NO_EXPORT; k++)
			if (configuration->exports[k].id == entry->id)
				finding_add(findings, FINDING_WRONG, &about,
					    "another export before it has the same Export_Id");
	}
}

int verdict_make(struct configuration *configuration, struct verdict *ret_verdict)
{
	struct verdict verdict = { .configuration = configuration };
	int rc = sizes_ceilings_read("/proc", &verdict.ceilings);

	if (rc != 0)
		return rc;
	verdict.exports = calloc(configuration->count + 1, sizeof(verdict.exports[0]));
	if (verdict.exports == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < configuration->count; i++) {
		verdict.exports[i].entry = &configuration->exports[i];
		judge_export(&verdict, &verdict.exports[i]);
		add_memory(&verdict, &verdict.exports[i]);
	}
	say_duplicates(configuration, &configuration->findings);
	say_overall(&verdict);
	*ret_verdict = verdict;
	return 0;
}

void verdict_free(struct verdict *verdict)
{
	free(verdict->exports);
}

const struct export_verdict *verdict_largest(const struct verdict *verdict,
					     enum size_direction direction)
{
	const struct export_verdict *largest = NULL;

	for (size_t i = 0; i < verdict->configuration->count; i++) {
		const struct export_verdict *export = &verdict->exports[i];
		uint64_t needed = export->offer[direction].needed;

		if (export->entry->options.value[OPTION_Socket_Check] == SOCKET_CHECK_OFF ||
		    needed > SIZE_SYSCTL_LIMIT)
			continue;
		if (largest == NULL || needed > largest->offer[direction].needed)
			largest = export;
	}
	return largest;
}
