import Glibc
import ReportServing

// The process that `beacon-gateway serve` becomes. See docs/serve.md.
exit(ServeProcess.main())
