import { expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld } from '../twin/world.ts'

const silent = () => new Promise<never>(() => {})
const echo = { id: 'c', name: 'echo', arguments: {} }

const opened = async (options: SessionOptions) => {
  const clock = new ManualClock()
  const world = createWorld({ clock })
  return { clock, session: await world.host.openSession({ mode: 'yolo', ...options }) }
}

test.each<[string, SessionOptions, string]>([
  [
    'watchdog',
    {
      watchdog: function mute() {
        return silent()
      },
    },
    'WatchdogDenied The call of "echo" was refused: the watchdog mute failed: no answer within 600000 ms.',
  ],
  [
    'guard before it', { guards: [{ id: 'mute', pre: silent }] },
    'GuardDenied The call of "echo" was refused: the guard mute failed: no answer within 600000 ms.',
  ],
  [
    'guard after it', { guards: [{ id: 'mute', post: silent }] },
    'GuardDenied The result of "echo" was withheld: the guard mute failed: no answer within 600000 ms.',
  ],
  [
    'hook', { hooks: { beforeToolExecution: silent } },
    'HookVetoed The call of "echo" was skipped: a before-hook failed: no answer within 600000 ms.',
  ],
])('a %s that never answers denies the call after its timeout', async (_, options, message) => {
  const { clock, session } = await opened(options)
  const outcome = session.call(echo, { timeoutMs: 50 })
  await flush()
  await clock.advance(599_999)
  expect(await Promise.race([outcome, 'open'])).toBe('open')
  await clock.advance(1)
  const ended = await outcome
  expect(ended.type === 'error' && `${ended.error.code} ${ended.error_text}`).toContain(message)
  expect(clock.pending).toBe(0)
})
