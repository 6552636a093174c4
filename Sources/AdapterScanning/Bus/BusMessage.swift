import CDBus

/// A message that was received from the bus.
///
/// It is valid only until the handler that received it returns.
@safe struct BusMessage {
    /// The kinds of messages.
    enum Kind { case call, reply, error, signal, other }

    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    /// The kind of this message.
    var kind: Kind {
        switch unsafe dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_METHOD_CALL: .call
        case DBUS_MESSAGE_TYPE_METHOD_RETURN: .reply
        case DBUS_MESSAGE_TYPE_ERROR: .error
        case DBUS_MESSAGE_TYPE_SIGNAL: .signal
        default: .other
        }
    }

    /// The sender's unique bus name. The bus fills it in, so it cannot be forged.
    var sender: String? { unsafe text(dbus_message_get_sender(pointer)) }
    /// The object that the message is sent to or from.
    var path: String? { unsafe text(dbus_message_get_path(pointer)) }
    /// The interface that the member belongs to; `nil` if the caller left it out.
    var interface: String? { unsafe text(dbus_message_get_interface(pointer)) }
    /// The name of the called method, or of the signal.
    var member: String? { unsafe text(dbus_message_get_member(pointer)) }
    /// The name of an error.
    var errorName: String? { unsafe text(dbus_message_get_error_name(pointer)) }
    /// The serial number of the call that this message answers; 0 if it answers none.
    var answeredSerial: UInt32 { unsafe dbus_message_get_reply_serial(pointer) }
    /// The arguments of the message.
    var arguments: BusReader { unsafe BusReader(pointer) }
    /// The libdbus message, for a reply to it.
    var raw: OpaquePointer { unsafe pointer }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String? { unsafe pointer.map { unsafe String(cString: $0) } }
}

/// A method call to send.
struct BusCall: Sendable, Hashable {
    /// The bus name of the process that owns the method.
    var destination: String
    /// The path of the object.
    var path: String
    /// The interface that the method belongs to.
    var interface: String
    /// The name of the method.
    var member: String
    /// The arguments, in the order of the method's signature.
    var arguments: [BusValue] = []
    /// Whether the caller waits for a reply. If not, the call is only sent.
    var wantsReply = true
}

/// The failure of a call.
struct BusFailure: Error, Sendable, Hashable {
    /// The kinds of failures that callers handle differently.
    enum Kind: Sendable, Hashable {
        /// A policy refuses this user.
        case denied
        /// `org.bluez.Error.InProgress`: the same operation is running already, or the controller hangs.
        case inProgress
        /// `org.bluez.Error.NotReady`: the adapter is powered off.
        case notReady
        /// `org.bluez.Error.AlreadyExists`.
        case alreadyExists
        /// No process owns the name, or the object or method does not exist.
        case absent
        /// No answer was received in time.
        case timeout
        /// Anything else.
        case other
    }

    /// The kind of the failure.
    var kind: Kind
    /// The error's name and text, for operators.
    var text: String

    /// Classifies an error by its name.
    ///
    /// Sources: bluez doc/adapter-api.txt, src/error.c; dbus-protocol.h, "Error names".
    init(name: String, text: String) {
        kind =
            switch name {
            case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed",
                "org.bluez.Error.NotAuthorized", "org.bluez.Error.NotPermitted":
                .denied
            case "org.bluez.Error.InProgress": .inProgress
            case "org.bluez.Error.NotReady": .notReady
            case "org.bluez.Error.AlreadyExists": .alreadyExists
            case "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.ServiceUnknown",
                "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
                "org.freedesktop.DBus.Error.UnknownInterface", "org.bluez.Error.DoesNotExist":
                .absent
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout": .timeout
            default: .other
            }
        self.text = text.isEmpty ? name : "\(name): \(text)"
    }
}
