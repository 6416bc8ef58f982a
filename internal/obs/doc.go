// Package obs is how a running Tributary is observed: its log on stderr, its
// metrics, and the HTTP server that answers /livez, /readyz and /metrics.
//
// A process is live as long as it can still get well by itself: brokers and
// databases that are away make it not ready, never dead, so that no supervisor
// restarts what is only waiting.
package obs
