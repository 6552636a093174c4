// This target needs no code: libFuzzer's main calls LLVMFuzzerTestOneInput, which FuzzTargets defines.
