import EventLoops
import Glibc

/// The address of the system bus, and a check whether it lets this user call bluetoothd.
package enum SystemBus {
    /// The value of DBUS_SYSTEM_BUS_ADDRESS, or else the default address of the D-Bus specification.
    static var address: String {
        if let pointer = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS") {
            let text = unsafe String(cString: pointer)
            if !text.isEmpty { return text }
        }
        return "unix:path=/var/run/dbus/system_bus_socket"
    }

    /// Returns the error of the bus if its policy does not let this user call bluetoothd.
    ///
    /// It asks bluetoothd for its objects, as a scanner does first, and changes nothing. It does not start bluetoothd.
    /// It waits for the answer.
    /// - Parameters:
    ///   - address: the bus, in the format of “Server Addresses” in the D-Bus specification; by default the system bus.
    ///   - milliseconds: the maximum time to wait for the answers.
    /// - Returns: `nil` if the bus does not refuse, if no process owns org.bluez, or if there is no bus or no answer.
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

    /// Collects the answers, which are received in the order of the calls.
    private final class Answers {
        var latest: UInt32?
        var refusal: String?
        var isGone = false

        func take(_ message: BusMessage) -> Bool {
            if message.kind == .signal, message.interface == DBusName.local {
                isGone = true
                // A bus that rejects the user closes the connection.
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
