/// That a command failed: what to tell the operator, and the exit code (sysexits.h).
package struct ExitFailure: Error, Hashable {
    /// The codes that commands end with.
    package enum Code: Int32, Sendable {
        case failed = 1
        case usage = 64
        case dataInvalid = 65
        case inputMissing = 66
        case serviceUnavailable = 69
        case cannotCreate = 73
        case cannotWrite = 74
        case noPermission = 77
        case configurationInvalid = 78
    }

    /// How the command ends.
    package let code: Code
    /// What, where and what to do; a line or more.
    package let message: String

    /// A failure with its exit code; `message` is shown to the operator as it is.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ExitFailure: CustomStringConvertible {
    /// The message alone: the exit code is for programs.
    package var description: String { message }
}
