import { expect, it } from 'vitest'
import { ConnectionFaults } from '../../../src/mcp/connecting/connection-faults.ts'
import { callFault, networkReason } from '../../../src/mcp/connecting/server-messages.ts'

it('a server that ends before it has read everything has exited', () => {
  const config = { type: 'local' as const, command: ['server'] }
  const faults = new ConnectionFaults({ name: 'ship', config }, { last: 'no such file', lines: [] }, (text) => text)
  expect(faults.ofOpening(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toMatchObject({
    code: 'ServerUnavailable',
    message: 'mcp server ship is unavailable: it exited during startup. Last line of its standard error: no such file.',
  })
})

it('text of a server in errors is bounded', () => {
  const long = 'x'.repeat(5_000)
  expect(callFault('ship', new Error(long), (text) => text).message).toHaveLength(2_000)
  const invalid = Object.assign(new Error(long), { code: 'INVALID_RESULT' })
  expect(callFault('ship', invalid, (text) => text).message).toMatch(/ sent an invalid response: x{300}$/)
})

it('follows eight causes of a failed request', () => {
  const chain = (length: number): Error =>
    length === 1 ? new Error('the last') : new TypeError('fetch failed', { cause: chain(length - 1) })
  expect([networkReason(chain(8)), networkReason(chain(9))]).toEqual(['the last', 'fetch failed'])
})
