import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { painterFor } from '../src/harness/report.ts'

/** A stream that looks like a terminal and reads the colour settings from the environment as one does. */
const terminal = () => Object.assign(
  new PassThrough(), { isTTY: true, getColorDepth: WriteStream.prototype.getColorDepth },
)

beforeEach(() => {
  vi.stubEnv('TERM', 'xterm-256color')
  const names = ['CI', 'FORCE_COLOR', 'NO_COLOR', 'NODE_DISABLE_COLORS', 'TEAMCITY_VERSION', 'TF_BUILD', 'TMUX']
  for (const name of names) vi.stubEnv(name, undefined)
})
afterEach(() => vi.unstubAllEnvs())

describe('painterFor', () => {
  it('uses colours on a terminal', () => {
    expect(painterFor(terminal())('green', 'met')).toBe('\x1b[32mmet\x1b[39m')
  })

  it('uses no colours in a pipe', () => {
    expect(painterFor(new PassThrough())('green', 'met')).toBe('met')
  })

  it('uses no colours if NO_COLOR is set', () => {
    vi.stubEnv('NO_COLOR', '1')
    expect(painterFor(terminal())('green', 'met')).toBe('met')
  })
})
