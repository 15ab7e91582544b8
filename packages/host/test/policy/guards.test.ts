import { expect, test } from 'vitest'
import type { CallCheck } from '../../src/index.ts'
import { createWorld } from '../twin/world.ts'

const FAILINGS: readonly [answer: () => unknown, message: string][] = [
  [() => { throw new Error('confused') }, 'failed: confused'],
  [() => ({ action: 'deny' }), 'gave no reason'],
  [() => ({ action: 'maybe' }), 'returned an unknown answer'],
  [() => ({ action: 'change', arguments: () => {}, reason: 'tidier' }), 'returned arguments that are not JSON'],
  [() => ({ action: 'change', arguments: 5, reason: 'tidier' }), 'returned arguments that the tool does not accept'],
]

test.each(FAILINGS)('a guard that denies without a good reason is named', async (answer, message) => {
  const { host } = createWorld()
  const guard = answer as CallCheck
  const textOf = async (options: Parameters<typeof host.openSession>[0]) => {
    const session = await host.openSession({ mode: 'yolo', ...options })
    const outcome = await session.call({ id: 'c', name: 'echo', arguments: {} })
    return outcome.type === 'error' ? outcome.error_text : ''
  }
  const refused = 'The call of "echo" was refused: the'
  expect(
    await textOf({
      watchdog: Object.defineProperty(() => guard(null as never, null as never), 'name', { value: 'dog' }),
    }),
  ).toContain(`${refused} watchdog dog ${message}`)
  expect(await textOf({ guards: [{ id: 'dlp', pre: guard }] })).toContain(`${refused} guard dlp ${message}`)
})
