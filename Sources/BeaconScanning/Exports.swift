// A program that scans needs only `import BeaconScanning`.
@_exported public import BaseTypes
@_exported public import BeaconMonitoring
@_exported public import BluetoothLE

@_exported public import enum Captures.CaptureError
@_exported public import struct Captures.CaptureZone
@_exported public import struct Captures.FieldMap
