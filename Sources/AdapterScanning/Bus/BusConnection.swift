import BaseTypes
import CDBus
import EventLoops
import SystemPackage

/// A private connection to a message bus, driven by an event loop.
///
/// libdbus reads, validates and writes messages when the event loop calls it. Only ``pump(milliseconds:until:)`` and
/// ``flush(milliseconds:)`` wait. The connection never ends the process, and no other code of the process shares it.
@safe final class BusConnection {
    // The limit of the system bus itself (dbus-daemon(1), max_message_size). One larger message ends the connection. If
    // several messages together are larger, the rest is read after the first ones were handled.
    private static let bytesMax = 32 << 20
    // If this many bytes are unsent, the connection is stuck. Further messages are dropped and counted.
    private static let unsentBytesMax = 1 << 20

    private let loop: EventLoop
    private let receive: (BusMessage) -> Bool
    private var connection: OpaquePointer?
    private var watches: [OpaquePointer] = unsafe []
    private var loopWatch: EventLoop.Watch?
    // Handles messages in the next turn that libdbus read during another operation.
    private var leftover: EventLoop.Timer?
    private var lastTurn = 0
    // libdbus deadlocks if a message is dispatched while another one is being handled.
    private var isDispatching = false
    /// The number of messages that could not be sent.
    private(set) var unsent = 0

    /// Whether the connection was opened and not closed. If the other end closes it, the owner is notified and must
    /// close it.
    var isOpen: Bool { unsafe connection != nil }

    /// Opens a connection. Nothing is sent yet, not even the authentication.
    ///
    /// - Parameters:
    ///   - address: the bus, in the format of “Server Addresses” in the D-Bus specification.
    ///   - loop: the event loop that drives the connection.
    ///   - receive: called with each message; returns whether it handled the message. A call that is not handled is
    ///     answered with an error. The end of the connection is delivered as the signal
    ///     `org.freedesktop.DBus.Local.Disconnected`.
    /// - Throws: ``BusFailure`` if the address is invalid or no bus listens there.
    init(address: String, loop: EventLoop, _ receive: @escaping (BusMessage) -> Bool) throws(BusFailure) {
        self.loop = loop
        self.receive = receive
        // Otherwise libdbus makes the whole process ignore SIGPIPE.
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
        // libdbus uses the pointer until close(), which deinit calls.
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

    /// Closes the connection. No messages are received afterwards.
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

    /// Sends a call. Returns the serial number that its answer will have, or `nil` if it could not be sent.
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
        // The call must not start a service that an administrator stopped.
        unsafe dbus_message_set_auto_start(message, 0)
        return unsafe send(message, call.arguments)
    }

    /// Sends the answer to a call.
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

    /// Handles everything that was received, without waiting.
    ///
    /// Messages that arrive during the call can be left for later, so that a peer that sends continuously cannot block
    /// the caller. If it is called while a message is being handled, it does nothing: the next messages follow that one
    /// anyway.
    func drain() {
        guard let connection = unsafe connection, !isDispatching else { return }
        var descriptor: Int32 = -1
        var waiting: Int32 = 0
        if unsafe dbus_connection_get_unix_fd(connection, &descriptor) != 0 {
            waiting = BusSocket.unreadBytes(descriptor)
        }
        // If so much is available, each round reads at least this much (dbus-transport-socket.c,
        // max_bytes_read_per_iteration).
        for _ in 0...(max(0, waiting) / 2048) {
            guard unsafe self.connection == connection else { return }
            _ = unsafe dbus_connection_read_write(connection, 0)
            dispatch()
        }
    }

    /// Sends and handles messages until `isDone` returns `true`, for at most `milliseconds`. This function waits.
    ///
    /// While a message is being handled it cannot wait, and only calls `isDone` once.
    /// - Returns: whether `isDone` returned `true` in time.
    func pump(milliseconds: Int, until isDone: () -> Bool) -> Bool {
        if isDispatching { return isDone() }
        let end = loop.now + .milliseconds(milliseconds)
        while true {
            dispatch()
            if isDone() { return true }
            guard let connection = unsafe connection, loop.now < end else { return false }
            // Short steps, so that the deadline is not exceeded much.
            _ = unsafe dbus_connection_read_write(connection, 50)
        }
    }

    /// Waits until all sent messages are written, for at most `milliseconds`, without handling received messages.
    func flush(milliseconds: Int) {
        let end = loop.now + .milliseconds(milliseconds)
        while let connection = unsafe connection, unsafe dbus_connection_has_messages_to_send(connection) != 0,
            loop.now < end
        {
            if unsafe dbus_connection_read_write(connection, 10) == 0 { return }
        }
    }

    /// Handles at most ``EventLoop/recordsPerTurn`` messages in each turn of the loop. The rest is handled in the next
    /// turn.
    private func dispatchSome() {
        if lastTurn != loop.turns {
            lastTurn = loop.turns
            dispatch(atMost: EventLoop.recordsPerTurn)
        }
        guard let connection = unsafe connection else { return }
        noteLeftover()
        // After a rest of the loop, more bytes can be waiting than one turn reads.
        var descriptor: Int32 = -1
        if unsafe dbus_connection_get_unix_fd(connection, &descriptor) != 0, BusSocket.unreadBytes(descriptor) > 0 {
            loop.refuseRest()
        }
    }

    private func dispatch(atMost count: Int = .max) {
        // A handler can close the connection, so it is retained until this function returns.
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

// libdbus has one watch for reading and one for writing on the same socket, and enables them as needed. The loop has
// one watch for each descriptor, so it gets the union of both.
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
        // Both calls fail only if the kernel has no memory. The connection is then watched again at its next change.
        if let loopWatch {
            try? loop.change(loopWatch, to: interest)
        } else {
            let descriptor = FileDescriptor(rawValue: unsafe dbus_watch_get_unix_fd(first))
            loopWatch = try? loop.watch(descriptor, for: interest, mayRest: true) { [weak self] in self?.ready($0) }
        }
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        // A handler can remove watches, so each one is checked before it is used.
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
