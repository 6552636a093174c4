// A program that scans needs only `import BeaconScanning`.
@_exported public import BaseTypes
@_exported public import BeaconMonitoring
@_exported public import BluetoothLE
