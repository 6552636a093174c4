import BaseTypes
import CDBus
import EventLoops
import SystemPackage

/// A connection of our own to a message bus, in the turns of an event loop.
///
/// libdbus reads, checks and writes messages; the loop tells it when. It waits nowhere but in ``pump(for:)``, asks for
/// nothing that nobody waits for, and never ends the process. Not shared with anybody else in the process.
@safe final class BusConnection {
    // What the system bus itself lets through (dbus-daemon(1), max_message_size). More in one message ends the
    // connection; more in several is left unread until those before have been handled.
    private static let bytesMax = 32 << 20
    // A connection that can't send this much is stuck; what more there would be to say is not said (and counted).
    private static let unsentBytesMax = 1 << 20

    private let loop: EventLoop
    private let receive: (BusMessage) -> Bool
    private var connection: OpaquePointer?
    private var watches: [OpaquePointer] = unsafe []
    private var loopWatch: EventLoop.Watch?
    // Messages that libdbus read while it did something else: they are handled in the next turn.
    private var leftover: EventLoop.Timer?
    private var lastTurn = 0
    // libdbus waits for ever where a message is dispatched while another is being handled.
    private var isDispatching = false
    /// How many messages could not be sent.
    private(set) var unsent = 0

    /// Whether it has been opened and not closed; where the other end dropped it, the owner is told, and closes it.
    var isOpen: Bool { unsafe connection != nil }

    /// Opens a connection; nothing has been said on it yet, not even who we are.
    ///
    /// - Parameters:
    ///   - address: the bus, as the D-Bus specification's “Server Addresses” writes it.
    ///   - loop: where it waits.
    ///   - receive: is handed every message; says whether it took it. A call that nobody takes is answered with an error.
    ///     The end of the connection comes as the signal `org.freedesktop.DBus.Local.Disconnected`.
    /// - Throws: ``BusFailure`` where nobody listens at the address, or it is none.
    init(address: String, loop: EventLoop, _ receive: @escaping (BusMessage) -> Bool) throws(BusFailure) {
        self.loop = loop
        self.receive = receive
        // Otherwise libdbus has the whole process ignore SIGPIPE.
        dbus_connection_set_change_sigpipe(0)
        var error = unsafe DBusError()
        unsafe dbus_error_init(&error)
        defer { unsafe dbus_error_free(&error) }
        guard let opened = unsafe dbus_connection_open_private(address, &error) else {
            throw unsafe BusFailure(
                name: error.name.map { unsafe String(cString: $0) } ?? "org.freedesktop.DBus.Error.NoMemory",
                text: error.message.map { unsafe String(cString: $0) } ?? "")
        }
        unsafe connection = opened
        unsafe dbus_connection_set_exit_on_disconnect(opened, 0)
        unsafe dbus_connection_set_max_message_size(opened, Self.bytesMax)
        unsafe dbus_connection_set_max_received_size(opened, Self.bytesMax)
        // The pointer is given up in close(), which deinit calls.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe dbus_connection_add_filter(opened, Self.filter, context, nil) != 0,
            unsafe dbus_connection_set_watch_functions(
                opened, Self.addWatch, Self.removeWatch, Self.toggleWatch, context, nil) != 0
        else {
            close()
            throw BusFailure(name: "org.freedesktop.DBus.Error.NoMemory", text: "")
        }
        leftover = loop.makeTimer { [weak self] _ in self?.dispatchSome() }
    }

    deinit { close() }

    /// Ends the connection; nothing more is received.
    func close() {
        guard let closing = unsafe connection else { return }
        unsafe connection = nil
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe dbus_connection_set_watch_functions(closing, nil, nil, nil, nil, nil)
        unsafe dbus_connection_remove_filter(closing, Self.filter, context)
        unsafe dbus_connection_close(closing)
        unsafe dbus_connection_unref(closing)
        if let leftover { loop.end(leftover) }
        leftover = nil
        unsafe watches.removeAll()
        listen()
    }

    // MARK: Sending

    /// Sends a call; the serial that its answer will carry, or `nil` where it could not be sent.
    func send(_ call: BusCall) -> UInt32? {
        guard
            let message = unsafe dbus_message_new_method_call(
                call.destination, call.path, call.interface, call.member)
        else {
            unsent &+= 1
            return nil
        }
        defer { unsafe dbus_message_unref(message) }
        unsafe dbus_message_set_no_reply(message, call.wantsReply ? 0 : 1)
        // A service that somebody stopped is not started by us.
        unsafe dbus_message_set_auto_start(message, 0)
        return unsafe send(message, call.arguments)
    }

    /// Answers a call.
    func reply(to call: BusMessage, _ arguments: [BusValue]) {
        guard let message = unsafe dbus_message_new_method_return(call.raw) else { return }
        defer { unsafe dbus_message_unref(message) }
        _ = unsafe send(message, arguments)
    }

    private func send(_ message: OpaquePointer, _ arguments: [BusValue]) -> UInt32? {
        guard let connection = unsafe connection,
            unsafe dbus_connection_get_outgoing_size(connection) < Self.unsentBytesMax
        else {
            unsent &+= 1
            return nil
        }
        var iterator = unsafe DBusMessageIter()
        unsafe dbus_message_iter_init_append(message, &iterator)
        var serial: dbus_uint32_t = 0
        guard arguments.allSatisfy({ unsafe $0.append(to: &iterator) }),
            unsafe dbus_connection_send(connection, message, &serial) != 0
        else {
            unsent &+= 1
            return nil
        }
        noteLeftover()
        return serial
    }

    // MARK: Receiving

    /// Handles everything that has been received, without waiting.
    ///
    /// What arrives while it does so may be left, so that a sender who never stops can't keep it here. Nothing is
    /// handled from within the handling of a message: the rest follows that one anyway.
    func drain() {
        guard let connection = unsafe connection, !isDispatching else { return }
        var descriptor: Int32 = -1
        var waiting: Int32 = 0
        if unsafe dbus_connection_get_unix_fd(connection, &descriptor) != 0 {
            waiting = BusSocket.unreadBytes(descriptor)
        }
        // Each round reads at least this much where it is there (dbus-transport-socket.c, max_bytes_read_per_iteration).
        for _ in 0...(max(0, waiting) / 2048) {
            guard unsafe self.connection == connection else { return }
            _ = unsafe dbus_connection_read_write(connection, 0)
            dispatch()
        }
    }

    /// Sends and handles what comes until `isDone` says so, for at most `milliseconds`: the one place that waits.
    ///
    /// From within the handling of a message it can't wait, and looks only whether it is done.
    /// - Returns: whether it was done in time.
    func pump(milliseconds: Int, until isDone: () -> Bool) -> Bool {
        if isDispatching { return isDone() }
        let end = loop.now + .milliseconds(milliseconds)
        while true {
            dispatch()
            if isDone() { return true }
            guard let connection = unsafe connection, loop.now < end else { return false }
            // A step short enough for the end to be kept.
            _ = unsafe dbus_connection_read_write(connection, 50)
        }
    }

    /// Waits until what was sent is written, for at most `milliseconds`; handles nothing of what comes.
    func flush(milliseconds: Int) {
        let end = loop.now + .milliseconds(milliseconds)
        while let connection = unsafe connection, unsafe dbus_connection_has_messages_to_send(connection) != 0,
            loop.now < end
        {
            if unsafe dbus_connection_read_write(connection, 10) == 0 { return }
        }
    }

    /// Handles at most ``EventLoop/recordsPerTurn`` messages in each turn of the loop; the rest follows in the next turn.
    private func dispatchSome() {
        if lastTurn != loop.turns {
            lastTurn = loop.turns
            dispatch(atMost: EventLoop.recordsPerTurn)
        }
        guard let connection = unsafe connection else { return }
        noteLeftover()
        // After a rest there is more to be read than a turn takes.
        var descriptor: Int32 = -1
        if unsafe dbus_connection_get_unix_fd(connection, &descriptor) != 0, BusSocket.unreadBytes(descriptor) > 0 {
            loop.refuseRest()
        }
    }

    private func dispatch(atMost count: Int = .max) {
        // The connection may be closed by whoever handles a message, and is kept until this returns.
        guard let connection = unsafe connection, !isDispatching else { return }
        isDispatching = true
        unsafe dbus_connection_ref(connection)
        defer {
            unsafe dbus_connection_unref(connection)
            isDispatching = false
        }
        var left = count
        while left > 0, unsafe self.connection == connection,
            unsafe dbus_connection_get_dispatch_status(connection) == DBUS_DISPATCH_DATA_REMAINS
        {
            left -= 1
            _ = unsafe dbus_connection_dispatch(connection)
        }
    }

    private func noteLeftover() {
        guard let connection = unsafe connection, let leftover,
            unsafe dbus_connection_get_dispatch_status(connection) != DBUS_DISPATCH_COMPLETE
        else { return }
        loop.set(leftover, at: loop.now)
        loop.refuseRest()
    }

    private static let filter: DBusHandleMessageFunction = { _, message, context in
        guard let message = unsafe message, let context = unsafe context else {
            return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
        }
        let connection = unsafe Unmanaged<BusConnection>.fromOpaque(context).takeUnretainedValue()
        return connection.receive(unsafe BusMessage(message))
            ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
    }
}

// MARK: - In the loop

// libdbus has a watch for reading and one for writing on the same socket, and enables them as it needs them; the loop has
// one watch a descriptor, for what both want.
extension BusConnection {
    private static let addWatch: DBusAddWatchFunction = { watch, context in
        guard let watch = unsafe watch, let context = unsafe context else { return 0 }
        let connection = unsafe Unmanaged<BusConnection>.fromOpaque(context).takeUnretainedValue()
        unsafe connection.watches.append(watch)
        connection.listen()
        return 1
    }

    private static let removeWatch: DBusRemoveWatchFunction = { watch, context in
        guard let watch = unsafe watch, let context = unsafe context else { return }
        let connection = unsafe Unmanaged<BusConnection>.fromOpaque(context).takeUnretainedValue()
        unsafe connection.watches.removeAll { $0 == watch }
        connection.listen()
    }

    private static let toggleWatch: DBusWatchToggledFunction = { _, context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<BusConnection>.fromOpaque(context).takeUnretainedValue().listen()
    }

    private func listen() {
        guard let first = unsafe watches.first else {
            if let loopWatch { loop.end(loopWatch) }
            loopWatch = nil
            return
        }
        var interest: EventLoop.Interest = []
        for index in unsafe watches.indices where unsafe dbus_watch_get_enabled(watches[index]) != 0 {
            let flags = unsafe dbus_watch_get_flags(watches[index])
            if flags & DBUS_WATCH_READABLE.rawValue != 0 { interest.insert(.read) }
            if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { interest.insert(.write) }
        }
        // Neither can fail but for want of kernel memory; the connection is then heard again at its next change.
        if let loopWatch {
            try? loop.change(loopWatch, to: interest)
        } else {
            let descriptor = FileDescriptor(rawValue: unsafe dbus_watch_get_unix_fd(first))
            loopWatch = try? loop.watch(descriptor, for: interest, mayRest: true) { [weak self] in self?.ready($0) }
        }
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        // A handler may have watches removed: what is left of them is looked up.
        let present = unsafe watches
        for index in unsafe present.indices {
            let watch = unsafe present[index]
            guard unsafe watches.contains(watch), unsafe dbus_watch_get_enabled(watch) != 0 else { continue }
            let wanted = unsafe dbus_watch_get_flags(watch)
            var flags: UInt32 = 0
            if readiness.contains(.read) { flags |= DBUS_WATCH_READABLE.rawValue & wanted }
            if readiness.contains(.write) { flags |= DBUS_WATCH_WRITABLE.rawValue & wanted }
            if readiness.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
            if readiness.contains(.hangUp) { flags |= DBUS_WATCH_HANGUP.rawValue }
            if flags != 0 { _ = unsafe dbus_watch_handle(watch, flags) }
        }
        dispatchSome()
    }
}
