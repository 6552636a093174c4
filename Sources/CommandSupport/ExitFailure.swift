package import EventLog
import OperatorLogging
package import SystemPackage

/// The failure of a command: a message for the operator, and an exit code (sysexits.h).
package struct ExitFailure: Error, Hashable {
    /// The exit codes of commands.
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

    /// The exit code of the command.
    package let code: Code
    /// The message: the failure, its place and a remedy, in one or more lines.
    package let message: String

    /// Creates a failure. The operator sees `message` unchanged.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ExitFailure: CustomStringConvertible {
    /// The message without the exit code, which is for programs.
    package var description: String { message }
}

extension ExitFailure {
    /// Creates the failure for a kernel error in the event loop (epoll(7), signalfd(2)).
    package init(ofLoop error: Errno) { self.init(.failed, "the process can't wait for events: \(error)") }

    /// Evaluates an expression that uses the event loop.
    ///
    /// - Parameter value: the expression.
    /// - Returns: its value.
    /// - Throws: ``ExitFailure`` for the error of the expression, see ``init(ofLoop:)``.
    package static func ofLoop<Value>(_ value: @autoclosure () throws(Errno) -> Value) throws(ExitFailure) -> Value {
        do throws(Errno) { return try value() } catch { throw ExitFailure(ofLoop: error) }
    }

    /// Creates the failure for an error of any type.
    package init(any error: any Error) {
        switch error {
        case let failure as ExitFailure: self = failure
        case let error as EventLogError: self.init(error)
        default: self.init(.failed, "\(error)")
        }
    }

    /// Creates the failure for an error of the event log.
    package init(_ error: EventLogError) {
        switch error {
        case .createFailed(_, .permissionDenied), .readFailed(_, .permissionDenied):
            self.init(.noPermission, error.description)
        case .createFailed, .directoryNotEmpty, .notALock: self.init(.cannotCreate, error.description)
        // The target of a link can contain any text.
        case .linked: self.init(.dataInvalid, PlainText.safe(error.description))
        case .ownerNotKept: self.init(.noPermission, error.description)
        case .writeFailed, .changedMeanwhile: self.init(.cannotWrite, error.description)
        case .readFailed: self.init(.inputMissing, error.description)
        case .newerVersion, .numberTooGreat: self.init(.dataInvalid, error.description)
        case .inUse: self.init(.serviceUnavailable, error.description)
        }
    }
}
