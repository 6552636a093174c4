import CDBus

/// A message that came over the bus.
///
/// It holds only until the handler that it was given to returns.
@safe struct BusMessage {
    /// What kind of message it is.
    enum Kind { case call, reply, error, signal, other }

    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    /// What kind of message it is.
    var kind: Kind {
        switch unsafe dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_METHOD_CALL: .call
        case DBUS_MESSAGE_TYPE_METHOD_RETURN: .reply
        case DBUS_MESSAGE_TYPE_ERROR: .error
        case DBUS_MESSAGE_TYPE_SIGNAL: .signal
        default: .other
        }
    }

    /// Who sent it: the unique name that the bus gave them. The bus fills it in, so it can't be forged.
    var sender: String? { unsafe text(dbus_message_get_sender(pointer)) }
    /// Which object it is for or from.
    var path: String? { unsafe text(dbus_message_get_path(pointer)) }
    /// Which interface the member belongs to; absent where the caller left it out.
    var interface: String? { unsafe text(dbus_message_get_interface(pointer)) }
    /// The name of the method that is called, or of the signal that is sent.
    var member: String? { unsafe text(dbus_message_get_member(pointer)) }
    /// An error's name.
    var errorName: String? { unsafe text(dbus_message_get_error_name(pointer)) }
    /// Which call it answers; 0 where none.
    var answeredSerial: UInt32 { unsafe dbus_message_get_reply_serial(pointer) }
    /// Its arguments.
    var arguments: BusReader { unsafe BusReader(pointer) }
    /// What it is made of, for a reply to it.
    var raw: OpaquePointer { unsafe pointer }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String? { unsafe pointer.map { unsafe String(cString: $0) } }
}

/// A call of a method, as it is sent.
struct BusCall: Sendable, Hashable {
    /// The bus name of the process whose method it is.
    var destination: String
    /// Of which object.
    var path: String
    /// The interface that the method belongs to.
    var interface: String
    /// The name of the method.
    var member: String
    /// The values that the method is called with, in its signature's order.
    var arguments: [BusValue] = []
    /// A reply that a caller waits for comes back; without, the call is only sent.
    var wantsReply = true
}

/// How a call ended, where it did not end well.
struct BusFailure: Error, Sendable, Hashable {
    /// What is done about it differs by these.
    enum Kind: Sendable, Hashable {
        /// A policy refuses this user.
        case denied
        /// `org.bluez.Error.InProgress`: it is being done already, or the controller hangs.
        case inProgress
        /// `org.bluez.Error.NotReady`: the adapter is off.
        case notReady
        /// `org.bluez.Error.AlreadyExists`.
        case alreadyExists
        /// Nobody has the name, or the object or method is not there.
        case absent
        /// No answer came in time.
        case timeout
        /// Anything else.
        case other
    }

    /// What it comes to.
    var kind: Kind
    /// The error's name and text, for operators.
    var text: String

    /// What an error's name comes to.
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
