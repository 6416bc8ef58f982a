// Package recipes tests the recipes over the history against a history that
// was made by hand, whose answers were worked out by hand: what every recipe
// shows as its example is what it answers there.
package recipes
