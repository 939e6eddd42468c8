/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The D-Bus object /org/ganesha/nfsd/dropbehind, interface org.ganesha.nfsd.dropbehind.
 *
 *   Exports()      one entry per export: id, path, options in force, and for READ and WRITE the
 *                  size asked for (0: none), the size served, and what is short (empty: nothing)
 *
 *   Connections()  one entry per TCP connection of the NFS port: peer, memory used and limit of the
 *                  receive and the send buffer, send-limited share of busy time in percent, verdict
 *
 * Every answer begins with a boolean and a string, as those of Ganesha's own objects. Handlers run
 * in the daemon's one D-Bus thread, which is joined before modules are unloaded.
 */
#include "internal.h"

#include "connections.h"
#include "export_mgr.h"
#include "gsh_dbus.h"
#include "nfs_core.h"

static void append_string(DBusMessageIter *iter, const char *text)
{
	dbus_message_iter_append_basic(iter, DBUS_TYPE_STRING, &text);
}

static void append_u64(DBusMessageIter *iter, uint64_t number)
{
	dbus_message_iter_append_basic(iter, DBUS_TYPE_UINT64, &number);
}

static void append_size(DBusMessageIter *iter, const struct export_size *size)
{
	append_u64(iter, size->set ? size->asked : 0);
	append_u64(iter, size->served);
	append_string(iter, size->line);
}

static void append_export(DBusMessageIter *array, struct db_export *export)
{
	dbus_uint16_t id = export->export.export_id;
	DBusMessageIter entry;
	char options[512];

	dbus_message_iter_open_container(array, DBUS_TYPE_STRUCT, NULL, &entry);
	dbus_message_iter_append_basic(&entry, DBUS_TYPE_UINT16, &id);
	append_string(&entry, export->path);
	pthread_mutex_lock(&export->update_lock);
	options_to_text(&export->config.options, options, sizeof(options));
	append_string(&entry, options);
	append_size(&entry, &export->size[SIZE_READ]);
	append_size(&entry, &export->size[SIZE_WRITE]);
	pthread_mutex_unlock(&export->update_lock);
	dbus_message_iter_close_container(array, &entry);
}

#define EXPORT_SIGNATURE "(qssttstts)"

static bool exports(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	struct fsal_module *module = &DROPBEHIND.module;
	DBusMessageIter iter, array;
	struct glist_head *at;

	(void)args;
	(void)error;
	dbus_message_iter_init_append(reply, &iter);
	gsh_dbus_status_reply(&iter, true, NULL);
	dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY, EXPORT_SIGNATURE, &array);
	PTHREAD_RWLOCK_rdlock(&module->lock);
	glist_for_each (at, &module->exports) {
		append_export(&array, db_export_of(glist_entry(at, struct fsal_export, exports)));
	}
	PTHREAD_RWLOCK_unlock(&module->lock);
	dbus_message_iter_close_container(&iter, &array);
	return true;
}

static void append_u32(DBusMessageIter *iter, uint32_t number)
{
	dbus_message_iter_append_basic(iter, DBUS_TYPE_UINT32, &number);
}

static void append_connection(DBusMessageIter *array, const struct connection *connection,
			      const struct size_ceilings *ceilings, const uint64_t *needed)
{
	char peer[CONNECTION_END_TEXT], verdict[CONNECTION_VERDICT];
	DBusMessageIter entry;

	connection_end_to_text(&connection->peer, peer, sizeof(peer));
	(void)connection_verdict(connection, ceilings, needed, verdict, sizeof(verdict));
	dbus_message_iter_open_container(array, DBUS_TYPE_STRUCT, NULL, &entry);
	append_string(&entry, peer);
	append_u32(&entry, connection->receive_used);
	append_u32(&entry, connection->receive_buffer);
	append_u32(&entry, connection->send_used);
	append_u32(&entry, connection->send_buffer);
	append_u32(&entry, connection_share(connection->send_limited_us, connection->busy_us));
	append_string(&entry, verdict);
	dbus_message_iter_close_container(array, &entry);
}

/* What the most demanding export needs: connections are not of one export */
static void needed_at_most(uint64_t ret_needed[SIZE_DIRECTIONS])
{
	struct fsal_module *module = &DROPBEHIND.module;
	struct glist_head *at;

	ret_needed[SIZE_READ] = ret_needed[SIZE_WRITE] = 0;
	PTHREAD_RWLOCK_rdlock(&module->lock);
	glist_for_each (at, &module->exports) {
		struct db_export *export =
			db_export_of(glist_entry(at, struct fsal_export, exports));
		uint64_t requests = export->config.options.value[OPTION_Socket_Requests];

		for (int d = 0; d < SIZE_DIRECTIONS; d++) {
			uint64_t needed = sizes_needed(d, atomic_load(&export->size[d].cap),
						       (unsigned int)requests);

			ret_needed[d] = MAX(ret_needed[d], needed);
		}
	}
	PTHREAD_RWLOCK_unlock(&module->lock);
}

#define CONNECTION_SIGNATURE "(suuuuus)"

static bool connections(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	const uint16_t port = nfs_param.core_param.port[P_NFS];
	struct connections list = { 0 };
	struct size_ceilings ceilings;
	uint64_t needed[SIZE_DIRECTIONS];
	DBusMessageIter iter, array;
	int rc = sizes_ceilings_read("/proc", &ceilings);

	(void)args;
	(void)error;
	if (rc == 0)
		rc = connections_list(&port, 1, CONNECTIONS_MAX, &list);
	needed_at_most(needed);
	dbus_message_iter_init_append(reply, &iter);
	gsh_dbus_status_reply(&iter, rc == 0, rc == 0 ? NULL : strerror(-rc));
	dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY, CONNECTION_SIGNATURE, &array);
	for (unsigned int i = 0; i < list.count; i++)
		append_connection(&array, &list.item[i], &ceilings, needed);
	dbus_message_iter_close_container(&iter, &array);
	connections_free(&list);
	return true;
}

static struct gsh_dbus_method connections_method = {
	.name = "Connections",
	.method = connections,
	.args = {
		STATUS_REPLY,
		{ .name = "connections", .type = "a" CONNECTION_SIGNATURE, .direction = "out" },
		END_ARG_LIST,
	},
};

static struct gsh_dbus_method exports_method = {
	.name = "Exports",
	.method = exports,
	.args = {
		STATUS_REPLY,
		{ .name = "exports", .type = "a" EXPORT_SIGNATURE, .direction = "out" },
		END_ARG_LIST,
	},
};

static struct gsh_dbus_method *methods[] = {
	&exports_method,
	&connections_method,
	NULL,
};

static struct gsh_dbus_interface interface = {
	.name = "org.ganesha.nfsd.dropbehind",
	.methods = methods,
};

static struct gsh_dbus_interface *interfaces[] = {
	&interface,
	NULL,
};

/*
 * D-Bus is up from the first lookup_path() on, not when startup exports are created; a name
 * registered twice ends the daemon, and there is no way to take it back (dbus_server.c).
 */
static void register_object(void)
{
	(void)gsh_dbus_register_path("dropbehind", interfaces);
}

void dbus_object_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_object);
}
