import EventLoops
import Glibc

/// Where the system bus is, and whether it lets this user talk to bluetoothd.
package enum SystemBus {
    /// What DBUS_SYSTEM_BUS_ADDRESS says, else the address that the D-Bus specification gives it.
    static var address: String {
        if let pointer = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS") {
            let text = unsafe String(cString: pointer)
            if !text.isEmpty { return text }
        }
        return "unix:path=/var/run/dbus/system_bus_socket"
    }

    /// What the bus says where its policy refuses to let this user talk to bluetoothd.
    ///
    /// It asks bluetoothd what it has, as a scanner does first, and changes nothing; a bluetoothd that does not run is not
    /// started. It waits for the answer.
    /// - Parameters:
    ///   - address: the bus, as the D-Bus specification's “Server Addresses” writes it; by default the system's.
    ///   - milliseconds: how long the answers may take.
    /// - Returns: `nil` where it does not refuse, nobody is org.bluez, or there is no bus or no answer.
    package static func refusal(at address: String? = nil, milliseconds: Int = 3000) -> String? {
        let answers = Answers()
        do {
            let loop = try EventLoop()
            let connection = try BusConnection(address: address ?? Self.address, loop: loop, answers.take)
            defer { connection.close() }
            _ = connection.send(DBusRequest.hello.call())
            let last = connection.send(DBusRequest.objects(token: 0).call())
            _ = connection.pump(milliseconds: milliseconds) { answers.latest == last || answers.isGone }
        } catch let failure as BusFailure {
            answers.note(failure)
        } catch {
            return nil
        }
        return answers.refusal
    }

    /// What was answered. The answers come in the order of the calls.
    private final class Answers {
        var latest: UInt32?
        var refusal: String?
        var isGone = false

        func take(_ message: BusMessage) -> Bool {
            if message.kind == .signal, message.interface == DBusName.local {
                isGone = true
                // A bus that does not let somebody in closes the connection.
                if latest == nil {
                    note(
                        BusFailure(
                            name: "org.freedesktop.DBus.Error.AuthFailed",
                            text: "the bus closed the connection without an answer"))
                }
                return true
            }
            guard message.kind == .reply || message.kind == .error else { return false }
            latest = message.answeredSerial
            if let name = message.errorName {
                var arguments = message.arguments
                note(BusFailure(name: name, text: arguments.text() ?? ""))
            }
            return true
        }

        func note(_ failure: BusFailure) {
            if failure.kind == .denied { refusal = refusal ?? failure.text }
        }
    }
}
