// libFuzzer's main calls LLVMFuzzerTestOneInput, which FuzzTargets has.
