// Whoever hears monitors: `import BeaconScanning` is all that a program needs.
@_exported public import BaseTypes
@_exported public import BeaconMonitoring
@_exported public import BluetoothLE
