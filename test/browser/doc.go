// Package browser holds tests that open the pages in a real Chromium: every page that
// links lead to, at three widths, in both themes, with and without scripts.
//
// make browser installs what they need; screenshots are kept in out/browser.
package browser
