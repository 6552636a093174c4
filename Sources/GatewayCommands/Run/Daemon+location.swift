// Where the gateway is.
extension Daemon {
    /// Hands on what the source of fixes tells.
    func hear(_ news: LocationTracker.News) {
        switch news {
        case .fix(let fix): monitor.located(fix)
        case .lost(let since, let reason, let time): monitor.lostLocation(since: since, reason: reason, at: time)
        }
        deliver()
    }
}
