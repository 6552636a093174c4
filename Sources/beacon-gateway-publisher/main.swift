import Glibc
import MQTTPublisher

// The publisher process. `beacon-gateway run` and `beacon-gateway publish` start it. See docs/mqtt.md.
exit(PublisherService.main())
