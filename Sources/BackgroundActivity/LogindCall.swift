import CDBus
import Glibc
import SystemPackage

/// Why logind gave no lock. An associated value is the reason, for operators.
enum LogindFailure: Error, Hashable {
    /// No bus accepts connections at the address.
    case noBus(String)
    /// No program owns the name of logind, and the bus cannot start it.
    case noService
    /// Logind or the policy of the bus refused the call.
    case refused(String)
    /// There was no answer, or the answer has no usable lock.
    case silent(String)
}

/// One call of logind's `Inhibit`, on a private connection that is closed after the call.
///
/// The call blocks. This is acceptable because a session starts once, before scanning starts.
@safe struct LogindCall {
    let address: String
    let what: String
    let who: String
    let why: String
    let mode: String

    // The time limit for logind's answer, the same as for other D-Bus calls of the project.
    private static let timeoutMilliseconds: Int32 = 5000

    /// The address of the system bus: the value of DBUS_SYSTEM_BUS_ADDRESS, or the default of the D-Bus specification
    /// if that is unset or empty.
    static var systemBus: String {
        if let pointer = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS") {
            let text = unsafe String(cString: pointer)
            if !text.isEmpty { return text }
        }
        return "unix:path=/var/run/dbus/system_bus_socket"
    }

    /// Requests a lock.
    ///
    /// - Returns: the file descriptor of the lock, with close-on-exec. The caller must close it.
    func inhibit() throws(LogindFailure) -> FileDescriptor {
        // Without this, libdbus makes the whole process ignore SIGPIPE.
        dbus_connection_set_change_sigpipe(0)
        var error = unsafe DBusError()
        unsafe dbus_error_init(&error)
        defer { unsafe dbus_error_free(&error) }
        guard let connection = unsafe dbus_connection_open_private(address, &error) else {
            let isWrong = unsafe dbus_error_has_name(&error, "org.freedesktop.DBus.Error.BadAddress") != 0
            throw isWrong ? .silent(unsafe Self.text(error)) : .noBus(unsafe Self.text(error))
        }
        defer {
            unsafe dbus_connection_close(connection)
            unsafe dbus_connection_unref(connection)
        }
        unsafe dbus_connection_set_exit_on_disconnect(connection, 0)
        guard unsafe dbus_bus_register(connection, &error) != 0 else { throw .noBus(unsafe Self.text(error)) }
        guard let call = unsafe message() else { throw .silent("no memory") }
        defer { unsafe dbus_message_unref(call) }
        let answer = unsafe dbus_connection_send_with_reply_and_block(
            connection, call, Self.timeoutMilliseconds, &error)
        guard let answer = unsafe answer else { throw unsafe Self.failure(error) }
        defer { unsafe dbus_message_unref(answer) }
        return try unsafe descriptor(in: answer)
    }

    private func message() -> OpaquePointer? {
        let call = unsafe dbus_message_new_method_call(
            "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Inhibit")
        guard let call = unsafe call else { return nil }
        var iterator = unsafe DBusMessageIter()
        unsafe dbus_message_iter_init_append(call, &iterator)
        for text in [what, who, why, mode] {
            // libdbus requires valid UTF-8 that ends with a zero byte. Swift strings are UTF-8, and `withCString` adds
            // the zero. A text with a zero byte inside ends there.
            let isAppended = unsafe text.withCString { pointer in
                var pointer: UnsafePointer<CChar>? = unsafe pointer
                return unsafe dbus_message_iter_append_basic(&iterator, Int32(UInt8(ascii: "s")), &pointer) != 0
            }
            guard isAppended else {
                unsafe dbus_message_unref(call)
                return nil
            }
        }
        return unsafe call
    }

    private func descriptor(in answer: OpaquePointer) throws(LogindFailure) -> FileDescriptor {
        var iterator = unsafe DBusMessageIter()
        guard unsafe dbus_message_iter_init(answer, &iterator) != 0,
            unsafe dbus_message_iter_get_arg_type(&iterator) == Int32(UInt8(ascii: "h"))
        else { throw .silent("its answer has no file descriptor") }
        // The descriptor is a duplicate of the one in the message, with close-on-exec (libdbus: DBUS_TYPE_UNIX_FD).
        var descriptor: Int32 = -1
        unsafe dbus_message_iter_get_basic(&iterator, &descriptor)
        guard descriptor >= 0 else { throw .silent("its file descriptor can't be used") }
        return FileDescriptor(rawValue: descriptor)
    }

    private static func text(_ error: DBusError) -> String {
        unsafe error.message.map { unsafe String(cString: $0) } ?? "no reason was given"
    }

    private static func failure(_ error: DBusError) -> LogindFailure {
        let name = unsafe error.name.map { unsafe String(cString: $0) } ?? ""
        let text = unsafe text(error)
        // Error names of the D-Bus specification, and those that the bus or systemd uses if it cannot activate a
        // service.
        switch name {
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
            "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.UnitMasked":
            return .noService
        case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
            "org.freedesktop.DBus.Error.Disconnected", "org.freedesktop.DBus.Error.NoMemory":
            return .silent(text)
        default:
            return name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") ? .noService : .refused(text)
        }
    }
}
