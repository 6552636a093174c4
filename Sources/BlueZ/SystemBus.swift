#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Where the system bus is.
enum SystemBus {
    /// What DBUS_SYSTEM_BUS_ADDRESS says, else the address that the D-Bus specification gives it.
    static var address: String {
        if let pointer = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS") {
            let text = unsafe String(cString: pointer)
            if !text.isEmpty { return text }
        }
        return "unix:path=/var/run/dbus/system_bus_socket"
    }
}
