import MQTTPublishing

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

// The publisher's process; `beacon-gateway run` and `beacon-gateway publish` start it. See docs/mqtt.md.
exit(PublisherService.main())
