import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { painterFor } from '../src/harness/report.ts'

/** A stream that looks like a terminal, with a terminal's own way of asking the environment for colours. */
const terminal = () => Object.assign(new PassThrough(), { isTTY: true, getColorDepth: WriteStream.prototype.getColorDepth })

beforeEach(() => {
  vi.stubEnv('TERM', 'xterm-256color')
  for (const name of ['CI', 'FORCE_COLOR', 'NO_COLOR', 'NODE_DISABLE_COLORS', 'TEAMCITY_VERSION', 'TF_BUILD', 'TMUX']) vi.stubEnv(name, undefined)
})
afterEach(() => vi.unstubAllEnvs())

describe('painterFor', () => {
  it('colours on a terminal', () => {
    expect(painterFor(terminal())('green', 'met')).toBe('\x1b[32mmet\x1b[39m')
  })

  it('does not colour a pipe', () => {
    expect(painterFor(new PassThrough())('green', 'met')).toBe('met')
  })

  it('does not colour against NO_COLOR', () => {
    vi.stubEnv('NO_COLOR', '1')
    expect(painterFor(terminal())('green', 'met')).toBe('met')
  })
})
