// The browser for tests of pages: one that is installed. Nothing is downloaded for it.
import { existsSync } from 'node:fs'

const PLACES = [
  '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Where it is. Undefined: this machine has none. */
export const chromium = (): string | undefined => PLACES.find((path) => existsSync(path))

/** It starts nothing and asks for nothing beside what a test opens. */
export const CHROMIUM_OPTIONS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
] as const
